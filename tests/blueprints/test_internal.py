"""What a host answers to other hosts, and to nobody else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app import create_app
from auth.peers import LONGEST_SECONDS, PeerKey
from auth.secrets import Secrets
from blueprints import internal
from config import Settings
from models import base, dataset
from storage.cluster.peer_client import SIGNATURE_HEADER, TIME_HEADER, address
from storage.wal.records import decode
from storage.write.arrival import Arrival
from tests.storage.workbench import NOON, batch_of
from web.services import EXTENSION

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
    made.extensions[internal.EXTENSION] = PeerKey(Secrets(SECRET.encode()), lambda: NOW)
    base.migrate()
    return made


def ask(app: Flask, known: Any, key: str = SECRET, age: float = 0, node: str | None = None) -> Any:
    path = address(node or app.extensions[EXTENSION].storage.layout.node)
    body = json.dumps({"known": known}).encode()
    moment = f"{NOW - age:.3f}"
    signature = PeerKey(Secrets(key.encode())).sign(moment.encode(), path.encode(), body)
    return app.test_client().post(path, data=body, headers={TIME_HEADER: moment, SIGNATURE_HEADER: signature})


@pytest.fixture
def append(app: Flask) -> Callable[[int], None]:
    storage = app.extensions[EXTENSION].storage
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


def test_host_that_is_alone_answers_nobody(tmp_path: Path) -> None:
    alone = create_app(Settings(data_dir=tmp_path, secret_key=SECRET))

    assert ask(alone, {}).status_code == 401
