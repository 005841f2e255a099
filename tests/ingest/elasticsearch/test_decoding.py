"""Bulk bodies as rows and faults by item. Elasticsearch: "Bulk API"."""

from typing import Any

import orjson
import pytest

from errors import InvalidBody, InvalidRequest, TooLarge
from ingest.decoded import Stored
from ingest.elasticsearch import bulk
from ingest.elasticsearch.answers import success
from ingest.elasticsearch.decoding import DecodedBulk, Target, decode
from ingest.elasticsearch.filter_path import parse

NOWHERE = Target(None, None)


def lines(*each: object) -> bytes:
    return b"".join((one if isinstance(one, bytes) else orjson.dumps(one)) + b"\n" for one in each)


def create(index: str | None = "a", **members: object) -> dict[str, object]:
    return {"create": {**({"_index": index} if index else {}), **members}}


def values(decoded: DecodedBulk, name: str = "n") -> dict[str, list[object]]:
    """The values of a column by dataset."""
    return {
        part.dataset: next((column.to_list() for column in part.batch.columns if column.name == name), [])
        for part in decoded.parts
    }


def results(decoded: DecodedBulk) -> list[tuple[str, int]]:
    answer = orjson.loads(success(Stored("", 0, False, "", lambda: decoded)).body)
    return [(name, told["status"]) for item in answer["items"] for name, told in item.items()]


def test_documents_go_to_the_datasets_of_their_indices():
    body = lines(create("logs-a.b"), {"n": 1}, {"index": {"_index": "c"}}, {"n": 2}, create("logs-a_b"), {"n": 3})

    decoded = decode(body, "", target=NOWHERE)

    assert values(decoded) == {"logs-a_b": [1, 3], "c": [2]}
    assert results(decoded) == [("create", 201), ("index", 201), ("create", 201)]


def test_index_of_the_path_is_that_of_items_without_one_and_the_header_takes_all():
    body = lines(create(None), {"n": 1}, create("own"), {"n": 2})

    assert values(decode(body, "", target=Target(None, "path"))) == {"path": [1], "own": [2]}
    assert values(decode(body, "", target=Target("all", "path"))) == {"all": [1, 2]}


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(b'{"n":', id="no JSON"),
        pytest.param(b"", id="no document"),
        pytest.param(b"[1]", id="no object"),
        pytest.param(b'[{"n":7}]', id="an array"),
        pytest.param(b'{"n":7},{"n":8}', id="two documents"),
        pytest.param(b'{"n":7}{"n":8}', id="two documents without a comma"),
        pytest.param(b'{"p_timestamp":1}', id="our column"),
        pytest.param(b'{"a\\u0000":1}', id="a name with NUL"),
        pytest.param(b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", id="too deep"),
    ],
)
def test_broken_document_is_refused_alone(broken: bytes):
    body = lines(create(), {"n": 1}, create(), broken, create(), {"n": 3})

    decoded = decode(body, "", target=NOWHERE)

    assert values(decoded) == {"a": [1, 3]}
    assert results(decoded) == [("create", 201), ("create", 400), ("create", 201)]


def test_two_halves_of_a_document_are_two_broken_ones():
    body = lines(create(), b'{"a":1', create(), b'"b":2}', create(), b'{"n":1},{"n":2}', create(), {"n": 5})

    assert values(decode(body, "", target=NOWHERE)) == {"a": [5]}


def test_updates_deletes_and_items_without_an_index_are_refused_alone():
    body = lines(
        {"update": {"_index": "a", "_id": "1"}},
        {"doc": {"n": 0}},
        {"delete": {"_index": "a", "_id": "1"}},
        create(None),
        {"n": 1},
        create(),
        {"n": 2},
    )

    decoded = decode(body, "", target=NOWHERE)

    assert values(decoded) == {"a": [2]}
    assert results(decoded) == [("update", 400), ("delete", 400), ("create", 400), ("create", 201)]


def test_integers_of_any_size_are_exact():
    decoded = decode(lines(create(), b'{"n":18446744073709551616}', create(), {"n": 1}), "", target=NOWHERE)

    fields = {
        field.type.value: column.to_list()
        for field, column in zip(decoded.parts[0].batch.fields, decoded.parts[0].batch.columns, strict=True)
    }
    assert fields == {"utf8": ["18446744073709551616", None], "int64": [None, 1]}


@pytest.mark.parametrize(
    "body", [b"", b"\n", b"garbage\n{}\n", b"[]\n{}\n", b'{"create":1}\n{}\n', b'{"drop":{}}\n', b'{"a":{},"b":{}}\n']
)
def test_what_is_no_bulk_body_is_refused_as_a_whole(body: bytes):
    with pytest.raises(InvalidBody):
        decode(body, "", target=NOWHERE)


def test_too_many_fields_refuse_the_documents_of_one_dataset():
    body = lines(create(), {f"f{number}": 1 for number in range(20)}, create("b"), {"n": 1})

    decoded = decode(body, "", 10, target=NOWHERE)

    assert values(decoded) == {"b": [1]}
    assert results(decoded) == [("create", 400), ("create", 201)]


def test_endless_names_and_items_are_refused(monkeypatch: pytest.MonkeyPatch):
    many = lines(*(each for number in range(101) for each in (create(f"i{number}"), {"n": 1})))

    with pytest.raises(InvalidRequest, match="100 datasets"):
        decode(many, "", target=NOWHERE)
    monkeypatch.setattr(bulk, "MOST_ITEMS", 10)
    with pytest.raises(TooLarge):
        decode(many, "", target=NOWHERE)


def test_answer_keeps_the_ids_of_the_sender_and_makes_others():
    decoded = decode(lines(create(_id="mine"), {"n": 1}, create(), {"n": 2}), "", target=NOWHERE)

    items = orjson.loads(success(Stored("", 2, False, "", lambda: decoded)).body)["items"]

    assert items[0]["create"]["_id"] == "mine"
    assert items[1]["create"]["_id"] not in ("", "mine")


@pytest.mark.parametrize(
    ("paths", "kept"),
    [
        ("errors", {"errors": True}),
        ("items.*.error,items.*.status", {"items": [{"index": {"status": 201}}]}),
        ("items.index._id", {"items": [{"index": {"_id": "1"}}]}),
        ("**.status", {"items": [{"index": {"status": 201}}]}),
        ("nothing", None),
        ("-took,-items", {"errors": True}),
        ("-items.index._*,-took", {"errors": True, "items": [{"index": {"status": 201}}]}),
        ("items,-items.*.status", {"items": [{"index": {"_id": "1"}}]}),
        ("-**.status,-took,-errors", {"items": [{"index": {"_id": "1"}}]}),
        ("-", {"took": 1, "errors": True, "items": [{"index": {"status": 201, "_id": "1"}}]}),
    ],
)
def test_filter_path_keeps_what_its_paths_name(paths: str, kept: object):
    answer = {"took": 1, "errors": True, "items": [{"index": {"status": 201, "_id": "1"}}]}

    assert parse(paths).of(answer) == kept


@pytest.mark.parametrize(
    "paths",
    [
        "",
        "errors",
        "items",
        "items.*._id",
        "items.create",
        "items.*.error,items.*.status",
        "-items",
        "-took,-**._id",
        "x",
    ],
)
def test_what_is_wanted_of_stored_items_is_what_is_left_of_the_whole_answer(paths: str):
    """What items have in common is filtered once; the answer is as if each had been filtered."""
    body = b'{"create":{"_id":"a"}}\n{"n":1}\n{"index":{"_id":"b"}}\n{"n":2}\n{"create":{"_id":"c"}}\n{"n":3}\n'
    decoded = decode(body, "", target=Target(None, "app"))
    stored = Stored("", 3, False, "", lambda: decoded)

    whole = orjson.loads(success(stored).body)

    assert [next(iter(item.values()))["_id"] for item in whole["items"]] == ["a", "b", "c"]
    assert orjson.loads(success(stored, parse(paths)).body) == (parse(paths).of(whole) or {})


@pytest.mark.parametrize("paths", ["", "items", "items.*.error,items.*.status", "-took,-**._seq_no", "errors", "x"])
def test_items_without_ids_are_told_of_as_the_paths_want_them(paths: str):
    """Their results differ in two numbers, and are made as one text."""
    decoded = decode(lines(create(), {"n": 1}, create(), {"n": 2}, create(), {"n": 3}), "", target=NOWHERE)
    stored = Stored("", 3, False, "", lambda: decoded)

    whole = orjson.loads(success(stored).body)
    wanted = orjson.loads(success(stored, parse(paths)).body)

    told = [item["create"] for item in whole["items"]]
    assert [each["_seq_no"] for each in told] == [0, 1, 2]
    assert len({each["_id"] for each in told}) == 3
    assert without_ids(wanted) == without_ids(parse(paths).of(whole) or {})


def without_ids(answer: dict[str, Any]) -> dict[str, Any]:
    for item in answer.get("items", ()):
        item["create"].pop("_id", None)
    return answer


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(lines(create(), {"n": 1}, create(), {"n": 2}), id="one action"),
        pytest.param(lines(create(), {"n": 1}, {"index": {"_index": "b"}}, {"n": 2}), id="two actions"),
        pytest.param(lines(create(), {"n": 1}, create(), b"{"), id="a broken document"),
        pytest.param(lines(create(), {"n": 1}, create(), b""), id="an empty document"),
        pytest.param(lines(create(), {"n": 1}, {"delete": {"_index": "a"}}, create(), {"n": 2}, b""), id="a deletion"),
        pytest.param(lines(create(), b'{"n":1}\r', create(), b' {"n":2} '), id="white space"),
        pytest.param(lines(create(), b'{"n":"}', create(), b'{"}'), id="halves"),
        pytest.param(lines(create(), {"n": "},{"}, create(), {"n": "}{"}), id="braces in texts"),
        pytest.param(lines(create(), b'{"n":1},{"n":2}', create(), {"n": 3}), id="two documents on a line"),
        pytest.param(lines(create(), b'{"n":1}', b"\t", create(), {"n": 3}, b""), id="a blank line"),
    ],
)
def test_items_that_alternate_are_those_that_are_read_one_by_one(body: bytes):
    """An empty line at the start, which the format allows, leads every body to the general reader."""
    for _ in range(2):  # shapes are learned
        quick, plain = (decode(each, "", target=NOWHERE) for each in (body, b"\n" + body))

        assert values(quick) == values(plain)
        assert results(quick) == results(plain)
        assert list(quick.items.documents) == list(plain.items.documents)
