"""What a host answers to other hosts, and to nobody else."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app import create_app
from auth.peers import LONGEST_SECONDS, PeerKey
from auth.secrets import Secrets
from config import Settings
from models import dataset, host
from storage.cluster.peer_client import DIGEST_HEADER, SIGNATURE_HEADER, TIME_HEADER, address, digest_of
from storage.wal.records import decode
from storage.write.arrival import Arrival
from tests.storage.workbench import NOON, batch_of
from web.services import hold, services_of

SECRET = "one key for all the hosts"
NOW = 1_800_000_000.0


@pytest.fixture
def app(tmp_path: Path, database_url: str) -> Flask:
    made = create_app(
        Settings(
            data_dir=tmp_path,
            database_url=database_url,
            storage_url="s3://bucket/nothing-is-read-from-it",
            secret_key=SECRET,
            advertise_url="http://127.0.0.1:1",
        )
    )
    hold(made, replace(services_of(made), peer_key=PeerKey(Secrets(SECRET.encode()), lambda: NOW)))
    return made


def ask(app: Flask, known: Any, key: str = SECRET, age: float = 0, node: str | None = None) -> Any:
    return send(app, json.dumps({"known": known}).encode(), key=key, moment=f"{NOW - age:.3f}", node=node)


def send(
    app: Flask,
    body: bytes,
    *,
    signed: bytes | None = None,
    key: str = SECRET,
    moment: str = f"{NOW:.3f}",
    node: str | None = None,
    **options: Any,
) -> Any:
    """The answer to a body; `signed`: the one that the signature is about, if it is another one."""
    path = address(node or services_of(app).storage.layout.node)
    digest = digest_of(body if signed is None else signed)
    signature = PeerKey(Secrets(key.encode())).sign(moment.encode(), path.encode(), digest.encode())
    headers = {TIME_HEADER: moment, DIGEST_HEADER: digest, SIGNATURE_HEADER: signature}
    return app.test_client().post(path, data=body, headers=headers, **options)


@pytest.fixture
def append(app: Flask) -> Callable[[int], None]:
    storage = services_of(app).storage
    with app.app_context():
        target = dataset.create("default", "app")
    return lambda value: storage.append(target, batch_of(x=[value]), Arrival(NOON, "192.0.2.1", "curl/8"))


def test_segments_come_whole_and_then_only_what_was_added(app: Flask, append: Callable[[int], None]) -> None:
    append(1)
    line, data = ask(app, {}).data.split(b"\n", 1)
    ((name, size, offset),) = json.loads(line)
    assert (len(data), offset) == (size, 0)
    assert [frame.rows for frame in decode(data, name)] == [1]

    append(2)
    line, more = ask(app, {name: size}).data.split(b"\n", 1)
    ((again, grown, offset),) = json.loads(line)

    assert (again, offset, len(more)) == (name, size, grown - size)
    assert [frame.rows for frame in decode(data + more, name)] == [1, 1]


def test_answer_is_signed_for_its_question(app: Flask, append: Callable[[int], None]) -> None:
    append(1)
    answer = ask(app, {})
    line = answer.data.split(b"\n", 1)[0] + b"\n"
    asked = answer.request.headers[SIGNATURE_HEADER]

    key = PeerKey(Secrets(SECRET.encode()))
    assert key.signed(answer.headers[SIGNATURE_HEADER], asked.encode(), line)
    assert not key.signed(answer.headers[SIGNATURE_HEADER], b"another question", line)


def test_wrong_secret_is_refused(app: Flask) -> None:
    assert ask(app, {}, key="some other secret key").status_code == 401
    assert ask(app, {}).status_code == 200


def test_request_that_is_too_old_is_refused(app: Flask) -> None:
    assert ask(app, {}, age=LONGEST_SECONDS - 1).status_code == 200
    assert ask(app, {}, age=LONGEST_SECONDS + 1).status_code == 401


def test_host_does_not_answer_for_another_whose_address_it_got(app: Flask) -> None:
    """Its empty tail would be taken for the other's, and that one's events would be missing unnoticed."""
    assert ask(app, {}, node="01ARZ3NDEKTSV4RRFFQ69G5FAV").status_code == 404


@pytest.mark.parametrize("known", [{"x": -1}, {"x": "y"}, [1], None])
def test_signed_nonsense_is_a_bad_request(app: Flask, known: Any) -> None:
    assert ask(app, known).status_code == 400


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 1_000_000], ids=["empty", "open", "no UTF-8", "deep"])
def test_a_signed_body_that_is_not_json_is_a_bad_request(app: Flask, body: bytes) -> None:
    assert send(app, body).status_code == 400


@pytest.mark.parametrize("moment", ["nan", "inf", "-inf", "1e999", "", "now"])
def test_a_signed_time_that_never_gets_old_is_refused(app: Flask, moment: str) -> None:
    assert send(app, b'{"known": {}}', moment=moment).status_code == 401


def test_another_body_than_the_signed_one_is_refused(app: Flask) -> None:
    assert send(app, b'{"known": {}}', signed=b'{"known": {"x": 1}}').status_code == 401


class Unread(io.RawIOBase):
    """A body that is told if anybody reads it."""

    was_read = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.was_read = True
        buffer[:1] = b"x"
        return 1


@pytest.mark.parametrize("refused", [{"key": "some other secret key"}, {"moment": "1"}, {"node": "another"}])
def test_nothing_is_read_of_a_body_before_it_is_known_who_asks(app: Flask, refused: dict[str, str]) -> None:
    stream = Unread()

    answer = send(app, b"", **refused, environ_overrides={"wsgi.input": stream, "CONTENT_LENGTH": "8000000"})

    assert answer.status_code in (401, 404)
    assert not stream.was_read


def test_bodies_of_other_hosts_count_as_others_do(app: Flask) -> None:
    services_of(app).bodies.inflight.limit_bytes = 10

    assert ask(app, {}).status_code == 503
    assert services_of(app).bodies.inflight.held_bytes == 0


def test_strangers_learn_that_a_host_is_missing_and_not_which(app: Flask) -> None:
    with app.app_context():
        host.arrive("01ARZ3NDEKTSV4RRFFQ69G5FAV", "http://127.0.0.1:1")

    answer = app.test_client().get("/api/v1/readiness")

    assert (answer.status_code, answer.json["code"]) == (503, "host_missing")
    assert set(answer.json) == {"code", "message", "requestId"}
    assert not {"01ARZ3NDEKTSV4RRFFQ69G5FAV", "127.0.0.1", "Errno"} & set(re.findall(r"[\w.]+", answer.json["message"]))


def test_host_that_is_alone_answers_nobody(tmp_path: Path) -> None:
    alone = create_app(Settings(data_dir=tmp_path, secret_key=SECRET))

    assert ask(alone, {}).status_code == 401
