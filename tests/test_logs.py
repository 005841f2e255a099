"""Log lines: one JSON object each, with the request's id."""

import json
import logging
import socket
import sys

import pytest

import logs


@pytest.fixture(autouse=True)
def no_request() -> None:
    """Applications that other tests call in this process leave their last request's id behind."""
    logs.request_id.set("")


def record(message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "weir.test", "msg": message, "args": arguments, "levelname": "WARNING"})
    made.__dict__.update(extra)
    return made


def test_json_line_has_what_the_caller_added():
    line = json.loads(logs.formatter("json").format(record("took %d s\nand a line", 3, code="overloaded")))

    assert line["message"] == "took 3 s\nand a line"
    assert (line["level"], line["logger"], line["code"]) == ("warning", "weir.test", "overloaded")
    assert line["time"].endswith("+00:00")
    assert "request_id" not in line


def test_json_line_is_one_line_even_with_a_traceback():
    try:
        raise ValueError("broken")
    except ValueError:
        text = logs.formatter("json").format(record("failed", exc_info=sys.exc_info()))

    assert "\n" not in text
    assert "ValueError: broken" in json.loads(text)["exception"]


@pytest.mark.parametrize("form", logs.FORMATS)
def test_line_names_the_request_it_is_about(form: str):
    token = logs.request_id.set("01JD")

    text = logs.formatter(form).format(record("refused"))

    logs.request_id.reset(token)
    assert "01JD" in text


def kept_by(keeper: logs.Keeper, *records: logging.LogRecord) -> None:
    for each in records:
        if each.levelno >= keeper.level:
            keeper.handle(each)


def test_lines_are_kept_shortened_and_without_details_or_what_is_not_to_be_kept():
    kept: list[logs.Line] = []
    keeper = logs.Keeper(kept.append)

    kept_by(keeper, record("x" * 10_000, levelno=logging.INFO), record("a detail", levelno=logging.DEBUG))
    token = logs.is_kept.set(False)
    kept_by(keeper, record("of the recorder", levelno=logging.ERROR))
    logs.is_kept.reset(token)

    assert [each["message"] for each in kept] == ["x" * logs.LONGEST_TEXT]


def test_relayed_line_comes_out_at_the_other_end_and_a_full_socket_does_not_wait():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    handlers = list(logging.root.handlers)
    logs.relay(theirs.detach())
    (relay,) = set(logging.root.handlers) - set(handlers)

    for _ in range(10_000):
        relay.handle(record("from afar", code="overloaded"))

    line = json.loads(ours.recv(100_000))
    assert (line["message"], line["code"]) == ("from afar", "overloaded")
    logging.root.removeHandler(relay)
    ours.close()
