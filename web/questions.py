"""Questions of whoever makes the request: with their name, and with the slots that they may take."""

import time

from auth.identity import Identity
from auth.privileges import Action, may
from query.question import Question
from query.results.options import Options
from web.caller import caller


def asked_by_caller(sql: str, options: Options | None = None) -> Question:
    """A question of the caller's, of now."""
    return Question(
        tenant=caller().tenant,
        identity=name_of(caller()),
        sql=sql,
        now_ns=time.time_ns(),
        options=options or Options(),
        privileged=may(caller(), Action.ADMINISTER),
    )


def name_of(identity: Identity) -> str:
    """What the list of running queries shows of who asked."""
    return f"{identity.kind}:{identity.id}"
