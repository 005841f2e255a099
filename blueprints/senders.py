"""Who sends how much to a dataset: key by key and user by user, over the last hours."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, cast

from flask import Blueprint, Response, jsonify, request

from auth.privileges import Action, require
from models import sender_count
from models.sender_count import BUCKET_SECONDS, Counted, Sent, bucket_of
from schemas.reading import load
from schemas.senders import SendersSchema
from web.authentication import protect
from web.caller import caller
from web.services import services
from web.times import rfc3339

blueprint = protect(Blueprint("senders", __name__, url_prefix="/api/v1/logstream"))

BUCKET: Final = timedelta(seconds=BUCKET_SECONDS)
NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


@blueprint.get("/<name>/senders")
def show(name: str) -> Response:
    """The senders of the last hours, who stored most bytes first. Weir's own events have no sender."""
    require(caller(), Action.ADMINISTER, name)
    hours = cast(int, load(SendersSchema(), request.args)["hours"])
    target = services().storage.find(caller().tenant, name)
    now = datetime.now(UTC)
    since = bucket_of(now - timedelta(hours=hours))
    counted = sender_count.find(caller().tenant, target.id, since)
    return jsonify(
        {
            "dataset": name,
            "from": rfc3339(since),
            "to": rfc3339(now),
            "bucketSeconds": BUCKET_SECONDS,
            "senders": by_sender(counted, now),
        }
    )


def by_sender(counted: Sequence[Counted], now: datetime) -> list[dict[str, object]]:
    """The buckets, the oldest first, as an object for each sender; who stored most bytes comes first."""
    buckets: dict[tuple[str, str], list[Counted]] = {}
    for each in counted:
        buckets.setdefault((each.sender.kind, each.sender.id), []).append(each)
    found = [_sender(of_one, now) for of_one in buckets.values()]
    return sorted(found, key=lambda each: (-cast(int, each["bytes"]), str(each["kind"]), str(each["id"])))


def _sender(buckets: Sequence[Counted], now: datetime) -> dict[str, object]:
    """Rates are those of the bucket under way and of the one before it: over the last five to ten minutes."""
    last = buckets[-1]
    recent = bucket_of(now) - BUCKET
    all_of_it, lately = _sum(buckets), _sum([each for each in buckets if each.begins >= recent])
    seconds = (now - recent).total_seconds()
    return {
        "kind": last.sender.kind,
        "id": last.sender.id,
        "name": last.name,
        "events": all_of_it.events,
        "bytes": all_of_it.body_bytes,
        "requests": all_of_it.requests,
        "latestAt": rfc3339(all_of_it.latest),
        "eventsPerSecond": round(lately.events / seconds, 3),
        "bytesPerSecond": round(lately.body_bytes / seconds, 3),
        "buckets": [_bucket(each) for each in buckets],
    }


def _sum(buckets: Sequence[Counted]) -> Sent:
    sums = Sent(NEVER)
    for sent in (each.sent for each in buckets):
        sums.add(sent.latest, sent.events, sent.body_bytes, sent.requests)
    return sums


def _bucket(counted: Counted) -> dict[str, object]:
    return {"begins": rfc3339(counted.begins), "events": counted.sent.events, "bytes": counted.sent.body_bytes}
