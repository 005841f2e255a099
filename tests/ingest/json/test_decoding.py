"""Every shape of body, every rule of api.md section 4, every silent corruption a faster decoder would commit."""

import contextlib
import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from columns import POLARS_TYPES, Batch
from errors import InvalidEvent, InvalidJSON, TooLarge, TooManyColumns
from ingest.json import framing
from ingest.json.decoding import decode


def stored(batch: Batch) -> dict[tuple[str, str], list]:
    for field, column in zip(batch.fields, batch.columns, strict=True):
        assert column.dtype == POLARS_TYPES[field.type]
        assert len(column) == batch.height
    values = [column.to_list() for column in batch.columns]
    kinds = ["oversized" if field.displaced else field.type.value for field in batch.fields]
    return {(field.name, kind): column for field, kind, column in zip(batch.fields, kinds, values, strict=True)}


def decoded(body: bytes | str) -> dict[tuple[str, str], list]:
    return stored(decode(body.encode() if isinstance(body, str) else body))


# --- Bodies -----------------------------------------------------------------------------------------------------------

TWO = {("a", "int64"): [1, 2]}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param('[{"a":1},{"a":2}]', id="array"),
        pytest.param(' \n[ {"a" : 1} ,\n {"a":2} ]\r\n', id="array with white space"),
        pytest.param('{"a":1}\n{"a":2}', id="ndjson"),
        pytest.param('{"a":1}\r\n\r\n{"a":2}\r\n', id="ndjson with carriage returns and blank lines"),
        pytest.param('{"a":1}{"a":2}', id="concatenated"),
        pytest.param('{"a":1} {"a":2}', id="separated by a space"),
        pytest.param('{\n  "a": 1\n}\n{\n  "a": 2\n}\n', id="pretty-printed one after the other"),
        pytest.param('[{"a":1}]\n[{"a":2}]\n', id="arrays line by line"),
        pytest.param('[{"a":1}][{"a":2}]', id="arrays one behind the other"),
        pytest.param('\ufeff[{"a":1},{"a":2}]', id="byte order mark"),
    ],
)
def test_body_of_any_shape_gives_its_events(body):
    assert decoded(body) == TWO


def test_single_object_is_one_event():
    """Spec 2.3: a JSON object, or an array of JSON objects."""
    assert decoded('{"a": 1, "b": "x"}') == {("a", "int64"): [1], ("b", "utf8"): ["x"]}


def test_empty_array_is_no_event():
    batch = decode(b"[]")

    assert batch == Batch((), (), 0)


@pytest.mark.parametrize("body", [b"{}", b"[{}]", b'[{"a":null}]', b'{"a":{}}'])
def test_event_without_values_is_a_row(body):
    batch = decode(body)

    assert (batch.fields, batch.height) == ((), 1)


def test_empty_events_among_others_keep_their_place():
    assert decoded('[{},{"a":1},{},{"b":null}]') == {("a", "int64"): [None, 1, None, None]}


def test_text_with_braces_does_not_split_concatenated_events():
    assert decoded('{"a":"}{"}{"a":"x"}') == {("a", "utf8"): ["}{", "x"]}


@pytest.mark.parametrize("count", [1, 2, 999, 5000, 30000])
@pytest.mark.parametrize("separator", [",", "\n", ""], ids=["array", "ndjson", "concatenated"])
def test_every_event_of_a_big_body_arrives_in_order(count, separator):
    events = [{"n": number, "inner": [{"n": 1}, {"n": 2}], "text": 'a}, {"n"' + "}{" * 3} for number in range(count)]
    text = separator.join(map(json.dumps, events))
    body = f"[{text}]" if separator == "," else text

    batch = stored(decode(body.encode()))

    assert batch[("n", "int64")] == list(range(count))
    assert batch[("inner", "json")] == ['[{"n":1},{"n":2}]'] * count


def test_columns_that_appear_late_in_a_big_body_are_null_before():
    body = orjson.dumps([{"pad": "x" * 1000, "n": 1} for _ in range(3000)] + [{"late": 1.5}])

    batch = stored(decode(body))

    assert batch[("late", "float64")] == [None] * 3000 + [1.5]


# --- Flattening -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param('{"a":{"b":1}}', {("a_b", "int64"): [1]}, id="joined with underscore"),
        pytest.param('{"a":{"b":{"c":true}}}', {("a_b_c", "bool"): [True]}, id="several levels"),
        pytest.param(
            '{"@timestamp":"t","service.name":"s","x y":1,"":2}',
            {("@timestamp", "utf8"): ["t"], ("service.name", "utf8"): ["s"], ("x y", "int64"): [1], ("", "int64"): [2]},
            id="names as sent",
        ),
        pytest.param(
            '{"__proto__":1,"a\\"b":2,"drop table":3,"é":4}',
            {("__proto__", "int64"): [1], ('a"b', "int64"): [2], ("drop table", "int64"): [3], ("é", "int64"): [4]},
            id="strange names",
        ),
        pytest.param('[{"a":{"b":1}},{"a":5}]', {("a_b", "int64"): [1, None], ("a", "int64"): [None, 5]}, id="or not"),
        pytest.param('[{"a":{"b":1}},{"a_b":2}]', {("a_b", "int64"): [1, 2]}, id="both ways in two events"),
        pytest.param(
            '{"a":{"b":1},"a_b":2}', {("a", "json"): ['{"b":1}'], ("a_b", "int64"): [2]}, id="collision with a field"
        ),
        pytest.param(
            '{"a_b":2,"a":{"b":1}}', {("a", "json"): ['{"b":1}'], ("a_b", "int64"): [2]}, id="collision, other order"
        ),
        pytest.param(
            '{"a":{"b_c":1},"a_b":{"c":2}}',
            {("a", "json"): ['{"b_c":1}'], ("a_b", "json"): ['{"c":2}']},
            id="collision of two objects",
        ),
        pytest.param(
            '{"x":{"a":{"b":1},"a_b":2}}', {("x_a", "json"): ['{"b":1}'], ("x_a_b", "int64"): [2]}, id="inner collision"
        ),
        pytest.param(
            '{"x":{"a":{"b":1},"a_b":2},"x_a":5}',
            {("x", "json"): ['{"a":{"b":1},"a_b":2}'], ("x_a", "int64"): [5]},
            id="collision with an object that stayed",
        ),
        pytest.param(
            '[{"a":{"b":1},"a_b":2},{"a":{"b":3}}]',
            {("a", "json"): ['{"b":1}', None], ("a_b", "int64"): [2, 3]},
            id="collision in one event alone",
        ),
        pytest.param('{"a":{"b":null},"c":{}}', {}, id="nothing inside"),
        pytest.param('{"a":{"b":null},"a_b":1}', {("a_b", "int64"): [1]}, id="null claims no name"),
        pytest.param('{"a":{"b":1},"a_b":null}', {("a_b", "int64"): [1]}, id="null claims no name either"),
        pytest.param('{"p_timestamp":null,"a":1}', {("a", "int64"): [1]}, id="null of a reserved name"),
        pytest.param(
            '{"p":{"timestamp":1,"x":2}}',
            {("p", "json"): ['{"timestamp":1,"x":2}']},
            id="collision with a reserved name",
        ),
    ],
)
def test_nested_objects_flatten(body, expected):
    assert decoded(body) == expected


def nested(keys: int) -> str:
    return '{"k":' * keys + "1" + "}" * keys


def test_ten_keys_are_joined():
    assert decoded(nested(10)) == {("_".join("k" * 10), "int64"): [1]}


def test_below_ten_keys_objects_stay_json():
    assert decoded(nested(12)) == {("_".join("k" * 10), "json"): ['{"k":{"k":1}}']}


def test_250_levels_are_kept():
    assert decoded(nested(250)) == {("_".join("k" * 10), "json"): [nested(240)]}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(nested(400), id="objects"),
        pytest.param('[{"a":1},{"a":' + "[" * 300 + "]" * 300 + "}]", id="arrays"),
    ],
)
def test_event_nested_deeper_than_our_json_libraries_write_is_refused(body):
    with pytest.raises(InvalidEvent) as refused:
        decode(body.encode())

    assert refused.value.details["index"] == (0 if body.startswith("{") else 1)


@pytest.mark.parametrize("body", [b"[" * 500_000, b'{"a":' * 500_000, b'[{"a":1,"a":' + b"[" * 500_000])
def test_half_a_million_brackets_are_refused(body):
    with pytest.raises(InvalidJSON):
        decode(body)


# --- Types: most of these bodies are corrupted silently by a decoder that infers one type per column ------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            '[{"x":1},{"x":1.5}]', {("x", "int64"): [1, None], ("x", "float64"): [None, 1.5]}, id="int and float"
        ),
        pytest.param('[{"x":1.0}]', {("x", "float64"): [1.0]}, id="float without fraction"),
        pytest.param(
            '[{"x":9007199254740993},{"x":1.5}]',
            {("x", "int64"): [9007199254740993, None], ("x", "float64"): [None, 1.5]},
            id="int beyond 2^53 beside a float",
        ),
        pytest.param(
            '[{"x":true},{"x":1}]', {("x", "bool"): [True, None], ("x", "int64"): [None, 1]}, id="bool and int"
        ),
        pytest.param(
            '[{"x":true},{"x":1.5}]', {("x", "bool"): [True, None], ("x", "float64"): [None, 1.5]}, id="bool and float"
        ),
        pytest.param(
            '[{"x":"1"},{"x":1},{"x":1.5},{"x":true}]',
            {
                ("x", "utf8"): ["1", None, None, None],
                ("x", "int64"): [None, 1, None, None],
                ("x", "float64"): [None, None, 1.5, None],
                ("x", "bool"): [None, None, None, True],
            },
            id="text and scalars",
        ),
        pytest.param(
            '[{"x":[{"y":1}]},{"x":2}]',
            {("x", "json"): ['[{"y":1}]', None], ("x", "int64"): [None, 2]},
            id="array or int",
        ),
        pytest.param(
            '[{"x":9223372036854775807},{"x":-9223372036854775808}]',
            {("x", "int64"): [2**63 - 1, -(2**63)]},
            id="edges of int64",
        ),
        pytest.param(
            '[{"x":9223372036854775808},{"x":-9223372036854775809},{"x":18446744073709551616},{"x":7}]',
            {
                ("x", "oversized"): ["9223372036854775808", "-9223372036854775809", "18446744073709551616", None],
                ("x", "int64"): [None, None, None, 7],
            },
            id="integers outside int64",
        ),
        pytest.param(
            '[{"x":123456789012345678901234567890123456789012345678901234567890}]',
            {("x", "oversized"): ["123456789012345678901234567890123456789012345678901234567890"]},
            id="integer beyond 128 bits",
        ),
        pytest.param('[{"x":1e19}]', {("x", "float64"): [1e19]}, id="float of that size"),
        pytest.param(
            '[{"x":[18446744073709551616]}]', {("x", "json"): ["[18446744073709551616]"]}, id="big integer in a list"
        ),
        pytest.param(
            '[{"x":[{"y":100000000000000000000}]}]', {("x", "json"): ['[{"y":100000000000000000000}]']}, id="in JSON"
        ),
        pytest.param('[{"x":[1e20]}]', {("x", "list_float64"): [[1e20]]}, id="big float in a list"),
        pytest.param('[{"x":-0}]', {("x", "int64"): [0]}, id="minus zero"),
        pytest.param('[{"x":1e5},{"x":1E5}]', {("x", "float64"): [1e5, 1e5]}, id="exponent"),
        pytest.param('[{"x":1e-400}]', {("x", "float64"): [0.0]}, id="underflow"),
        pytest.param('[{"x":"2026-01-01T00:00:00Z"}]', {("x", "utf8"): ["2026-01-01T00:00:00Z"]}, id="no guessed time"),
        pytest.param('[{"x":"\\u0000"}]', {("x", "utf8"): ["\0"]}, id="NUL"),
        pytest.param('[{"x":"\\ud83d\\ude00"}]', {("x", "utf8"): ["😀"]}, id="surrogate pair"),
        pytest.param('[{"x":"a\\ud83d"},{"x":"\\ude00b"}]', {("x", "utf8"): ["a�", "�b"]}, id="lone surrogates"),
        pytest.param('[{"x":"\\\\ud83d"}]', {("x", "utf8"): ["\\ud83d"]}, id="text that looks like a surrogate"),
        pytest.param('{"x":"\\ud83d"}\n{"x":"b"}', {("x", "utf8"): ["�", "b"]}, id="lone surrogate in ndjson"),
        pytest.param('[{"\\ud83d":1}]', {("�", "int64"): [1]}, id="lone surrogate in a name"),
    ],
)
def test_values_keep_their_type(body, expected):
    assert decoded(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param('{"x":[1,null,2]}', {("x", "list_int64"): [[1, None, 2]]}, id="ints"),
        pytest.param('{"x":["a",null]}', {("x", "list_utf8"): [["a", None]]}, id="text"),
        pytest.param('{"x":[true,false]}', {("x", "list_bool"): [[True, False]]}, id="bools"),
        pytest.param('{"x":[1.5,null]}', {("x", "list_float64"): [[1.5, None]]}, id="floats"),
        pytest.param('{"x":[1,1.5]}', {("x", "list_float64"): [[1.0, 1.5]]}, id="ints and floats"),
        pytest.param('{"x":[9007199254740993,1.5]}', {("x", "json"): ["[9007199254740993,1.5]"]}, id="int beyond 2^53"),
        pytest.param('{"x":[1,"a"]}', {("x", "json"): ['[1,"a"]']}, id="mixed scalars"),
        pytest.param('{"x":[1,true]}', {("x", "json"): ["[1,true]"]}, id="int and bool"),
        pytest.param('{"x":[[1],[2]]}', {("x", "json"): ["[[1],[2]]"]}, id="nested"),
        pytest.param('{"x":[{"a":1},{"b":2}]}', {("x", "json"): ['[{"a":1},{"b":2}]']}, id="objects as sent"),
        pytest.param('{"x":[{},null,[]]}', {("x", "json"): ["[{},null,[]]"]}, id="empty things"),
        pytest.param(
            '[{"x":[1]},{"x":["a"]},{"x":[2]}]',
            {("x", "list_int64"): [[1], None, [2]], ("x", "list_utf8"): [None, ["a"], None]},
            id="two types of list",
        ),
        pytest.param('{"x":[]}', {("x", "list_utf8"): [[]]}, id="empty"),
        pytest.param('{"x":[null]}', {("x", "list_utf8"): [[None]]}, id="only null"),
        pytest.param(
            '[{"x":[]},{"x":[1]},{"x":[null]}]', {("x", "list_int64"): [[], [1], [None]]}, id="empty beside ints"
        ),
        pytest.param(
            '[{"x":[]},{"x":[{"a":1}]},{"x":[null]}]', {("x", "json"): ["[]", '[{"a":1}]', "[null]"]}, id="beside JSON"
        ),
        pytest.param(
            '[{"x":[]},{"x":"a"}]', {("x", "utf8"): [None, "a"], ("x", "list_utf8"): [[], None]}, id="or text"
        ),
    ],
)
def test_arrays_are_lists_or_json(body, expected):
    assert decoded(body) == expected


@pytest.mark.parametrize(
    "lists", [[[1, 2], [3]], [[], [1], [None]], [["a", None], []], [[0.5, 1]], [[True], []], [[], []]]
)
def test_lists_of_many_rows_are_those_of_few(lists):
    few = decoded(orjson.dumps([{"x": value} for value in lists]))
    many = decoded(orjson.dumps([{"x": value} for value in [*lists, None] * 50]))

    assert many == {key: [*column, None] * 50 for key, column in few.items()}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param('{"a":1,"a":2}', {("a", "int64"): [1]}, id="top"),
        pytest.param('{"a":null,"a":2}', {}, id="first is null"),
        pytest.param('{"a":1,"a":"x","b":2}', {("a", "int64"): [1], ("b", "int64"): [2]}, id="other type"),
        pytest.param(
            '[{"a":1},{"b":{"c":1,"c":2}}]', {("a", "int64"): [1, None], ("b_c", "int64"): [None, 1]}, id="nested"
        ),
        pytest.param('{"a":[{"b":1,"b":2}]}', {("a", "json"): ['[{"b":1}]']}, id="in JSON"),
        pytest.param('{"a":{"b":1},"a":{"c":2}}', {("a_b", "int64"): [1]}, id="objects"),
        pytest.param('{"a":1}\n{"a":2,"a":3}', {("a", "int64"): [1, 2]}, id="ndjson"),
        pytest.param(
            '{"k":"\\u0022\\u0022","a":1,"a":2}', {("k", "utf8"): ['""'], ("a", "int64"): [1]}, id="as many quotes"
        ),
        pytest.param('{"a":1,"a":3}{"a":2}', {("a", "int64"): [1, 2]}, id="concatenated"),
        pytest.param('{"a":"\\u0022","\\u0061":"\\u0022"}', {("a", "utf8"): ['"']}, id="escaped names and quotes"),
    ],
)
def test_first_of_a_repeated_key_wins(body, expected):
    assert decoded(body) == expected


@pytest.mark.parametrize("height", [1, 32, 33, 1000])
def test_few_rows_and_many_rows_give_the_same_columns(height):
    event = {"i": -(2**63), "f": -0.0, "s": "\0é", "b": False, "l": ["x"], "big": 2**63, "j": [{}]}

    batch = stored(decode(orjson.dumps([event] * height)))

    assert {key: repr(column) for key, column in batch.items()} == {
        ("i", "int64"): repr([-(2**63)] * height),
        ("f", "float64"): repr([-0.0] * height),
        ("s", "utf8"): repr(["\0é"] * height),
        ("b", "bool"): repr([False] * height),
        ("l", "list_utf8"): repr([["x"]] * height),
        ("big", "oversized"): repr(["9223372036854775808"] * height),
        ("j", "json"): repr(["[{}]"] * height),
    }


# --- Refusals ---------------------------------------------------------------------------------------------------------


NOT_JSON = [
    b"",
    b" \n",
    b"x",
    b'{"a":1',
    b'[{"a":1},]',
    b'[{"a":1}',
    b'{"a":1}}',
    b'[{"a":1}] x',
    b'{"a":NaN}',
    b'{"a":Infinity}',
    b'{"a":-Infinity}',
    b'{"a":1e400}',
    b'{"a":-1e400}',
    b'{"a":01}',
    b'{"a":1.}',
    b"{'a':1}",
    b'{"a":"\xff"}',
    b'{"a":"x\ny"}',
    b'{"a":"\x00"}',
    b'{"a" 1}',
    b'{"a":1}\n{"b"',
    b'{"a":1},{"b":2}',
    b'{"a":[{}\n{}]}',
    b'{"a":tru}',
    b'"\\x"',
    b"\x00",
    b'\xff\xfe{"a":1}',
    b'{"a":1 /*c*/}',
    b'{"a":1,"a":1e400}',
    b"[,]",
    b"[{}{}]",
    b'{"a":' + b"9" * 5000 + b"}",
]


@pytest.mark.parametrize("body", NOT_JSON)
def test_body_that_is_not_json_is_refused(body):
    with pytest.raises(InvalidJSON):
        decode(body)


@pytest.mark.parametrize(
    ("body", "position"),
    [
        pytest.param(b'{"a": x}', 6, id="object"),
        pytest.param('{"é": x}'.encode(), 7, id="in bytes"),
        pytest.param(b'{"a":1}\n{"a":x}\n', 13, id="second line"),
        pytest.param(b"[" + b'{"a":1},' * 300_000 + b"x]", 2_400_001, id="far away"),
        pytest.param(b'{"a":"\xff"}', 6, id="not UTF-8"),
    ],
)
def test_refusal_names_the_byte(body, position):
    with pytest.raises(InvalidJSON) as refused:
        decode(body)

    assert refused.value.details["position"] == position


@pytest.mark.parametrize(
    "event", ["1", '"x"', "null", "[]", "true", '{"p_timestamp":"x"}', '{"p_src_ip":{"x":1},"p_src_ip_x":2}']
)
@pytest.mark.parametrize("before", [0, 2, 5000])
def test_unusable_event_is_refused_with_its_index(event, before):
    """A batch is atomic: one bad event rejects it with its index (api.md section 4)."""
    body = "[" + '{"text":"0123456789012345678901234567890123456789"},' * before + event + "]"

    with pytest.raises(InvalidEvent) as refused:
        decode(body.encode())

    assert refused.value.details["index"] == before


def test_names_reserved_by_the_request_are_refused():
    with pytest.raises(InvalidEvent):
        decode(b'{"p_env": 1}', reserved={"p_env"})


@pytest.mark.parametrize("name", ["a\\u0000b", "n" * 1001])
def test_name_that_the_catalogue_cannot_hold_is_refused(name):
    with pytest.raises(InvalidEvent) as refused:
        decode(f'[{{"a":1}},{{"{name}":1}}]'.encode())

    assert refused.value.details["index"] == 1


def test_event_of_100_000_keys_is_refused():
    with pytest.raises(TooManyColumns):
        decode(orjson.dumps({f"k{number}": number for number in range(100_000)}))


def test_body_of_100_000_different_keys_is_refused():
    with pytest.raises(TooManyColumns):
        decode(orjson.dumps([{f"k{number}": number} for number in range(100_000)]))


def test_thousand_columns_are_accepted_nested_or_not():
    body = orjson.dumps([{"x": {f"k{number}": number for number in range(999)}, "y": 1}])

    assert len(decode(body).fields) == 1000


def test_batch_of_mostly_empty_cells_is_refused():
    body = b"[" + b"{}," * 100_000 + orjson.dumps({f"k{number}": 1 for number in range(900)}) + b"]"

    with pytest.raises(TooLarge):
        decode(body)


# --- Any JSON ---------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
NAMES = st.sampled_from(["a", "b", "a_b", "a_b_c", "b_c", "c", "_", "", "é"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, 1.0, 2.0**53, 2**53 + 1, 2**63, -(2**63) - 1, 1e19])
    | TEXT
    | st.sampled_from(["1", "1.5", "true", "null", '"', "\\", '":', "}{", "},{", "e+19,"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
EVENTS = st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=6)


def model(events: list[dict]) -> dict[tuple[str, str], list]:
    """The rules once more, as simply as they can be said: event by event, value by value."""
    columns: dict[tuple[str, str], list] = {}
    untyped: dict[str, dict[int, list]] = {}
    for row, event in enumerate(events):
        for name, value in flat(event, 10).items():
            kind, kept = typed(value)
            if kind == "empty":
                untyped.setdefault(name, {})[row] = kept
            elif kind is not None:
                columns.setdefault((name, kind), [None] * len(events))[row] = kept
    for name, lists in untyped.items():
        kind = next((kind for other, kind in columns if other == name and kind.startswith("list_")), None)
        kind = kind or ("json" if (name, "json") in columns else "list_utf8")
        column = columns.setdefault((name, kind), [None] * len(events))
        for row, value in lists.items():
            column[row] = json.dumps(value, separators=(",", ":")) if kind == "json" else value
    return columns


def flat(event: dict, depth: int) -> dict:
    event = {key: value for key, value in event.items() if value is not None}
    nested = {key for key, value in event.items() if isinstance(value, dict) and depth > 1}
    while True:
        triples = [
            (name, child, key)
            for key, value in event.items()
            for name, child in (
                [(f"{key}_{inner}", child) for inner, child in flat(value, depth - 1).items()]
                if key in nested
                else [(key, value)]
            )
        ]
        names = [name for name, _, _ in triples]
        colliding = {key for name, _, key in triples if key in nested and names.count(name) > 1}
        if not colliding:
            return {name: child for name, child, _ in triples}
        nested -= colliding


def typed(value: object) -> tuple[str | None, object]:
    if value is None:
        return None, None
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, int):
        return ("int64", value) if -(2**63) <= value < 2**63 else ("oversized", str(value))
    if isinstance(value, float):
        return "float64", value
    if isinstance(value, str):
        return "utf8", value
    if isinstance(value, list):
        kinds = {typed(child)[0] for child in value} - {None}
        types = {type(child) for child in value} - {type(None)}
        if not types:
            return "empty", value
        if kinds == {"int64", "float64"} and all(abs(child) <= 2**53 for child in value if type(child) is int):
            return "list_float64", [None if child is None else float(child) for child in value]
        if (
            len(types) == 1
            and len(kinds) == 1
            and kinds <= {"bool", "int64", "float64"} | ({"utf8"} if types == {str} else set())
        ):
            return f"list_{kinds.pop()}", value
    return "json", value


def comparable(columns: dict[tuple[str, str], list]) -> dict:
    """JSON text by its value; floats by their digits, since -0.0 == 0."""
    return {
        (name, kind): repr(
            [json.loads(value) if kind == "json" and isinstance(value, str) else value for value in column]
        )
        for (name, kind), column in columns.items()
    }


FRAMINGS = st.sampled_from(["array", "spaced", "ndjson", "concatenated", "ascii"])


def framed(events: list[dict], style: str) -> bytes:
    compact = [json.dumps(event, ensure_ascii=style == "ascii", separators=(",", ":")) for event in events]
    body = {
        "array": f"[{','.join(compact)}]",
        "ascii": f"[{','.join(compact)}]",
        "spaced": json.dumps(events, indent=1),
        "ndjson": "\n".join(compact) or "[]",
        "concatenated": "".join(compact) or "[]",
    }
    return body[style].encode()


@settings(max_examples=300)
@given(EVENTS, FRAMINGS)
def test_any_events_are_stored_value_by_value_as_sent(events, style):
    batch = decode(framed(events, style))

    assert batch.height == len(events)
    assert comparable(stored(batch)) == comparable(model(events))


@settings(max_examples=300)
@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=2, max_size=20), st.integers(1, 100), FRAMINGS)
def test_any_events_are_the_same_however_the_body_is_cut(events, run_bytes, style):
    body = framed(events, style)
    whole = stored(decode(body))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "RUN_BYTES", run_bytes)
        patch.setattr(framing, "LARGEST_RUN_BYTES", 4 * run_bytes)
        patch.setattr(framing, "RUN_EVENTS", 3)
        cut = stored(decode(body))

    assert comparable(cut) == comparable(whole)


@settings(max_examples=200)
@given(st.binary(max_size=40) | st.text(alphabet='[]{}",:1e-.tn\\u d8"ab', max_size=40).map(str.encode))
def test_any_bytes_are_decoded_or_refused(body):
    with contextlib.suppress(InvalidJSON, InvalidEvent):
        assert decode(body).height >= 0
