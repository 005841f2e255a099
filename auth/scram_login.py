"""Logins by SCRAM-SHA-256, of users and API keys, and whether whoever logged in so is still who they were."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from auth.backoff import Backoff
from auth.identity import Identity, Kind
from auth.last_use import LastUse
from auth.names import is_text
from auth.scram import ScramVerifier, ScramVerifiers
from auth.verify import native, of_key
from models import api_key, user
from models.api_key import ApiKeyRecord
from models.shared_generation import Generation
from models.user import UserRecord


@dataclass(frozen=True, slots=True)
class Login:
    """Whom a name means, and what proves it. `identity` None: nobody, and nothing proves it.

    `credential` is what has to be the same for the login to stay good: a password's digest, a key's sealed secret.
    """

    tenant: str
    name: str
    verifier: ScramVerifier
    identity: Identity | None
    credential: str | bytes | None = None
    expires_at: datetime | None = None


class ScramLogins:
    """Logins of one worker, under the same back-off as passwords over HTTP."""

    def __init__(
        self,
        verifiers: ScramVerifiers,
        backoff: Backoff,
        generation: Generation,
        last_use: LastUse,
        clock: Callable[[], datetime],
    ) -> None:
        self._verifiers = verifiers
        self._backoff = backoff
        self._generation = generation
        self._last_use = last_use
        self._clock = clock

    def find(self, tenant: str, name: str) -> Login:
        """Whom the name means: a native user, or an API key by its name or id. A user comes first."""
        nobody = Login(tenant, name, self._verifiers.of_nobody(tenant, name), None)
        if not is_text(name):
            return nobody
        record = user.find(tenant, name)
        if record is not None and record.scram is not None:
            return _of_user(tenant, record, self._verifiers.open(tenant, record.name, record.scram))
        key = api_key.find_named(tenant, name)
        if record is not None or key is None:
            return nobody
        return _of_key(tenant, key, self._verifiers.of_secret(key.key_id, key.sealed))

    def is_admitted(self, login: Login, address: str, is_proof: Callable[[], bool]) -> bool:
        """Whether the proof holds, of somebody who exists and whose key is valid. Raises TooManyAttempts.

        Counted when the proof is at hand, and forgiven in the same moment: logins that are right never wait for each
        other, however many a pool begins at once.
        """
        account = f"{login.tenant}/{login.name}"
        self._backoff.admit(address, account)
        if not is_proof() or login.identity is None or self._is_over(login):
            return False
        self._backoff.forgive(address, account)
        return True

    def state(self) -> int | None:
        """What a login was checked under; while it is the same number, so is everybody's right."""
        return self._generation.read()

    def again(self, login: Login) -> Login | None:
        """The same login with the rights of now; None when it is no longer good."""
        identity = login.identity
        if identity is None or self._is_over(login):
            return None
        found = _load(identity, login.verifier)
        return found if found is not None and found.credential == login.credential else None

    def is_over(self, login: Login) -> bool:
        """Whether the login's key has expired; its use is noted otherwise."""
        now = self._clock()
        if self._is_over(login):
            return True
        if login.identity is not None and login.identity.kind is Kind.API_KEY:
            self._last_use.note(login.identity.id, now)
        return False

    def _is_over(self, login: Login) -> bool:
        return login.expires_at is not None and login.expires_at <= self._clock()


def _of_user(tenant: str, record: UserRecord, verifier: ScramVerifier) -> Login:
    return Login(tenant, record.name, verifier, native(tenant, record), record.password_hash)


def _of_key(tenant: str, record: ApiKeyRecord, verifier: ScramVerifier) -> Login:
    return Login(tenant, record.name, verifier, of_key(tenant, record), record.sealed, record.expires_at)


def _load(identity: Identity, verifier: ScramVerifier) -> Login | None:
    if identity.kind is Kind.NATIVE:
        record = user.find(identity.tenant, identity.id)
        return None if record is None else _of_user(identity.tenant, record, verifier)
    key = api_key.find_by_id(identity.tenant, identity.id)
    return None if key is None else _of_key(identity.tenant, key, verifier)
