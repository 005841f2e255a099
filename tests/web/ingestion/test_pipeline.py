"""The stages that every protocol takes, shown with one that only this test has."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from flask import Request

import app as service
from columns import POLARS_TYPES, Batch, ColumnType, Field
from config import Settings
from errors import InvalidBody, UnsupportedMedia, WeirError
from ingest.decoded import Answer, Decoded, Stored
from models import dataset
from tests.blueprints.conftest import Caller
from tests.blueprints.conftest import record as record_by
from web.ingestion.pipeline import Pipeline
from web.ingestion.protocol import Endpoint, Protocol
from web.ingestion.protocols import protocols
from web.ingestion.writer import Writer

PATH = "/lines"
HEADERS = {"X-P-Stream": "app", "Content-Type": "text/plain"}


class Lines:
    """A protocol of lines, one event each; a line `?` is left out. Keeps what was decoded and told."""

    def __init__(self) -> None:
        self.decoded: list[bytes] = []
        self.told: list[tuple[int, bool, int]] = []

    def protocol(self) -> Protocol:
        endpoint = Endpoint(
            "put", PATH, media_type=self.media_type, decode=self.decode, success=self.success, inline_bytes=2**30
        )
        return Protocol("lines", (endpoint,), failure=self.failure)

    def media_type(self, request: Request) -> str:
        if request.mimetype != "text/plain":
            raise UnsupportedMedia("lines are text/plain")
        return request.mimetype

    def decode(self, body: bytes, media_type: str, max_columns: int) -> Decoded:
        self.decoded.append(body)
        if body == b"garbage":
            raise InvalidBody("no lines")
        lines = body.decode().split()
        kept = [line for line in lines if line != "?"]
        column = pl.Series("line", kept, POLARS_TYPES[ColumnType.UTF8])
        batch = Batch((Field("line", ColumnType.UTF8),), (column,), len(kept))
        return Decoded(batch, {"unclear": len(lines) - len(kept)} if len(lines) > len(kept) else {})

    def success(self, stored: Stored[Decoded]) -> Answer:
        self.told.append((stored.events, stored.is_duplicate, stored.decoded().rejected))
        return Answer(b"taken", "text/plain", 202, {"X-Lines": str(stored.events)})

    def failure(self, media_type: str, status: int, error: WeirError) -> Answer:
        return Answer(f"refused: {error.code}".encode(), "text/plain", status)


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def call(access, tmp_path, lines: Lines) -> Caller:
    """The service with one protocol more."""
    parts = service.build(Settings(data_dir=tmp_path), access)
    rows = (*protocols(), lines.protocol())
    pipeline = Pipeline(rows, parts.bodies, Writer(parts.storage), parts.meters, parts.settings.max_columns)
    made = service.join(replace(parts, pipeline=pipeline))
    record_by(made, lambda *_: None)
    return Caller(made)


def send(call: Caller, body: bytes, auth: Any = ("admin", "correct horse battery staple"), **headers: str):
    sent = HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}
    return call("POST", PATH, auth, data=body, headers=sent)


def test_row_of_the_table_is_served_and_answers_in_its_own_words(call, lines):
    answer = send(call, b"a b")

    assert (answer.status_code, answer.data, answer.headers["X-Lines"]) == (202, b"taken", "2")
    assert answer.content_type == "text/plain"
    assert dataset.find("default", "app").telemetry_type == "logs"


def test_nobody_gets_past_authorization_and_nothing_is_decoded(call, lines):
    """A row of the table cannot leave it out."""
    reader = call.make_key("reader", {"privilege": "reader"})["apiKey"]

    answers = [send(call, b"a", auth) for auth in (None, reader)]

    assert [(answer.status_code, answer.data) for answer in answers] == [
        (401, b"refused: unauthenticated"),
        (403, b"refused: forbidden"),
    ]
    assert lines.decoded == []


@pytest.mark.parametrize(
    ("headers", "refusal"),
    [
        pytest.param({"X_P_Log_Source": "otel-logs"}, (400, b"refused: invalid_header"), id="log source"),
        pytest.param({"Content_Type": "text/html"}, (415, b"refused: unsupported_media_type"), id="media type"),
        pytest.param({"X_P_Stream": "a.b"}, (400, b"refused: invalid_name"), id="dataset"),
        pytest.param({"Content_Encoding": "br"}, (415, b"refused: unsupported_media_type"), id="coding"),
    ],
)
def test_refusal_by_headers_comes_before_decoding(call, lines, headers, refusal):
    answer = send(call, b"a", **headers)

    assert (answer.status_code, answer.data) == refusal
    assert lines.decoded == []


def test_refusal_of_a_caller_without_rights_says_nothing_of_the_rest(call):
    """Authorization comes before the checks of what is sent."""
    reader = call.make_key("reader", {"privilege": "reader"})["apiKey"]

    assert send(call, b"a", reader, Content_Type="text/html", X_P_Log_Source="otel-logs").status_code == 403


def test_what_is_not_understood_creates_no_dataset(call):
    assert send(call, b"garbage").status_code == 400
    assert dataset.find_all("default") == []


def test_repeated_request_is_answered_as_the_first_was_and_counted_once(call, lines):
    """Also a partial success: what was left out the first time is told again."""
    answers = [send(call, b"a ? b", Idempotency_Key="repeated_request_is_") for _ in range(2)]

    assert [answer.data for answer in answers] == [b"taken", b"taken"]
    assert lines.told == [(2, False, 1), (2, True, 1)]
    metrics = call("GET", "/api/v1/metrics").text
    assert 'weir_rejected_events_total{protocol="lines",reason="unclear"} 1.0' in metrics


def test_key_with_another_body_is_refused_undecoded(call, lines):
    send(call, b"a", Idempotency_Key="key_with_another_bod")

    answer = send(call, b"garbage", Idempotency_Key="key_with_another_bod")

    assert (answer.status_code, answer.data) == (422, b"refused: idempotency_key_reused")
    assert lines.decoded == [b"a"]


def test_key_of_a_refused_body_is_free_again(call, lines):
    assert send(call, b"garbage", Idempotency_Key="key_of_a_refused_bod").status_code == 400
    assert send(call, b"a", Idempotency_Key="key_of_a_refused_bod").status_code == 202
