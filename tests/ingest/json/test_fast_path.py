"""Events that are alike take the short way, and nothing that the exact path would store otherwise does."""

import json
import random
import re

import orjson
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from columns import ColumnType
from errors import InvalidJSON, WeirError
from ingest.batch_builder import MAX_COLUMNS
from ingest.flatten import Rules
from ingest.json import batch_decoding, decoding, fast_path
from ingest.json.decoding import RESERVED, decode
from tests.ingest.json.test_decoding import SCALARS, TEXT, comparable, model, stored


def nested(depth: int) -> dict:
    event: dict = {"a": 1}
    for _ in range(depth):
        event = {"a": event}
    return event


@pytest.fixture(autouse=True)
def nothing_learned():
    fast_path.shapes.cache_clear()


@pytest.fixture
def short_way_alone(monkeypatch):
    """The exact path fails; call it when something was learned."""

    def refuse(*_):
        raise AssertionError("read by the exact path")

    def begin():
        monkeypatch.setattr(decoding, "_exactly", refuse)
        monkeypatch.setattr(batch_decoding, "_exactly", refuse)

    return begin


def exactly(body: bytes) -> object:
    """What the exact path makes of a body: the stored values, or the refusal."""
    fast_path.shapes.cache_clear()
    return outcome(body)


def outcome(body: bytes) -> object:
    try:
        batch = decode(body)
    except WeirError as error:
        return type(error), str(error), dict(error.details)
    return batch.height, list(comparable(stored(batch)).items())


def after(first: bytes, body: bytes) -> object:
    """What becomes of the body when the shape of the first has been learned."""
    fast_path.shapes.cache_clear()
    decode(first)
    return outcome(body)


# --- What takes the short way -----------------------------------------------------------------------------------------

ALIKE = [
    pytest.param([{"a": 1, "b": "x"}], [{"a": -5, "b": ""}, {"a": None, "b": 'é\n"\\\x01\x00'}], id="flat"),
    pytest.param([{"a": {"b": {"c": 1}}, "d": 1.5}], [{"a": {"b": {"c": 2}}, "d": 1e300}] * 40, id="nested"),
    pytest.param([{"a": {"b": 1}}], [{"a": {"b": 3}}, {"a": {"b": None}}, {"a": None}], id="no object"),
    pytest.param([{"a": [1, 2]}], [{"a": [3]}, {"a": []}, {"a": None}, {"a": [None, 4]}], id="lists"),
    pytest.param([{"a": [1, 2]}], [{"a": [3]}, {"a": []}, {"a": None}, {"a": [None, 4]}] * 20, id="many lists"),
    pytest.param([{"a": None, "b": True}], [{"a": "x", "b": None}], id="text where there was nothing"),
    pytest.param([{"a": 1, "b": True}], [{"a": None, "b": False}], id="nothing where there was a number"),
    pytest.param(
        [{"a": 1, "b": 1.5, "c": 1}, {"a": 0.1, "b": 2, "c": 2.5}],
        [{"a": 5, "b": 0.5, "c": 2**53}, {"a": 1e-7, "b": -3, "c": 1e16}, {"a": None, "b": 1e300, "c": 7}],
        id="integers among floats",
    ),
    pytest.param(
        [{"a": {"b": 1, "c": "x"}, "d": {"e": 1}, "f": None}, {"a": {"b": 1.5, "c": "x"}, "d": {"e": 2.5}, "f": None}],
        [{"a": {"b": 2.5, "c": ".0,"}, "d": {"e": 5}, "f": "5.0"}, {"a": None, "d": None, "f": "x.0"}],
        id="integers among nested floats",
    ),
    pytest.param(
        [{"a": 1, "b": "x"}, {"a": 1.5, "b": "x"}], [{"a": 1, "b": "x"}, {"a": None, "b": "x"}], id="integers alone"
    ),
    pytest.param([{"a": 1, "b": "x"}, {"a": 1.5, "b": "x"}], [{"a": 1.5, "b": "x"}] * 2, id="floats alone"),
    pytest.param([{"a": 1, "b": 1}, {"a": 1.5, "b": 1}], [{"a": 1.5, "b": 1}, {"a": 5.0, "b": 1}], id="whole floats"),
    pytest.param([{"": 1, 'a"b': 2, "é": 3}], [{"": 5, 'a"b': 6, "é": 7}], id="names"),
]


FRAMINGS = {
    "array": (b",", b""),
    "lines": (b"\n", b""),
    "lines with an end": (b"\r\n", b"\r\n"),
    "one behind the other": (b"", b""),
}


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(("first", "then"), ALIKE)
def test_events_of_a_known_shape_are_read_without_the_exact_path(first, then, framing, short_way_alone):
    decode(orjson.dumps(first))
    short_way_alone()
    separator, end = FRAMINGS[framing]
    written = separator.join(map(orjson.dumps, then)) + end

    batch = decode(b"[" + written + b"]" if framing == "array" else written)

    assert batch.height == len(then)
    assert comparable(stored(batch)) == comparable(model(then))


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def unicode(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


SPELLINGS = {
    "python": json.dumps,
    "python, indented": lambda events: json.dumps(events, indent=2),
    "python, unicode": lambda events: json.dumps(events, ensure_ascii=False),
    "fluent bit": compact,
    "go": lambda events: re.sub("[<>&]", lambda char: f"\\u{ord(char[0]):04x}", unicode(events)),
    "php": lambda events: compact(events).replace("/", "\\/").replace("\\u007f", "\x7f"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_spellings_of_common_serializers_are_read_without_the_exact_path(spelling, short_way_alone):
    text = 'a "b": c, "d": {e}, \\ / </p> & \\u00e9 \\\\u00e9 é € 😀 \x00 \x1b \x7f \n }, {' + "x" * 2000
    events = [{"a b": number, "c": text, "o": {"x": 1.5, "": ["y, z", '": ']}} for number in range(3)]
    decode(orjson.dumps(events[:1]))
    short_way_alone()

    batch = decode(SPELLINGS[spelling](events).encode())

    assert comparable(stored(batch)) == comparable(model(events))


@pytest.mark.parametrize("write", [compact, json.dumps])
@pytest.mark.parametrize("event", [{"a": 1, "b": "x, {y"}, {"a": {"b": 2}, "c": "{x}"}], ids=["flat", "nested"])
def test_lines_with_braces_in_strings_are_read_without_the_exact_path(event, write, short_way_alone):
    decode(orjson.dumps([event]))
    short_way_alone()

    batch = decode("\n".join([write(event)] * 3).encode())

    assert comparable(stored(batch)) == comparable(model([event] * 3))


def test_a_big_body_is_read_in_pieces_without_the_exact_path(short_way_alone):
    events = [{"n": number, "inner": {"text": '"},{"n":1' * 3, "list": [str(number)]}} for number in range(40_000)]
    decode(b'[{"n":1,"inner":{"text":"","list":[""]}}]')
    short_way_alone()

    assert comparable(stored(decode(orjson.dumps(events)))) == comparable(model(events))


# --- What does not ----------------------------------------------------------------------------------------------------

EVENT = '{"i":1,"f":1.5,"s":"x","b":true,"o":{"i":2,"s":"y"},"l":["z"],"n":[1]}'
CHANGES = [
    ('"i":1', '"i":1.5'),
    ('"i":1', '"i":1.0'),
    ('"i":1', '"i":-0'),
    ('"i":1', '"i":"1"'),
    ('"i":1', '"i":true'),
    ('"i":1', '"i":9223372036854775807'),
    ('"i":1', '"i":9223372036854775808'),
    ('"i":1', '"i":18446744073709551616'),
    ('"i":1', '"i":1e2'),
    ('"i":1', '"i":[1]'),
    ('"i":1', '"i":{}'),
    ('"i":1', '"i":{"i":1}'),
    ('"i":1', '"i":1,"i":2'),
    ('"i":1', '"i":2,"i":1'),
    ('"i":1', '"i":01'),
    ('"i":1', '"i":NaN'),
    ('"i":1', '"i":'),
    ('"i":1', '"j":1'),
    ('"i":1', '"i" :1'),
    ('"i":1,"f":1.5', '"f":1.5,"i":1'),
    ('"i":1,', ""),
    ('"f":1.5', '"f":1'),
    ('"f":1.5', '"f":1.50'),
    ('"f":1.5', '"f":1e400'),
    ('"f":1.5', '"f":0.1000000000000000055511151231257827'),
    ('"f":1.5', '"f":-0.0'),
    ('"f":1.5', '"f":5e-324'),
    ('"f":1.5', '"f":9007199254740993.0'),
    ('"f":1.5', '"f":18446744073709551616'),
    ('"s":"x"', '"s":1'),
    ('"s":"x"', '"s":true'),
    ('"s":"x"', '"s":{"a":1}'),
    ('"s":"x"', '"s":["x"]'),
    ('"s":"x"', r'"s":"\ud83d"'),
    ('"s":"x"', r'"s":"\ud83d\ude00"'),
    ('"s":"x"', r'"s":"\u0078"'),
    ('"s":"x"', r'"s":"\u0000"'),
    ('"s":"x"', r'"s":"\/"'),
    ('"s":"x"', '"s":"a\nb"'),
    ('"s":"x"', '"s":"\x7f\ud7ff\U0010ffff"'),
    ('"b":true', '"b":1'),
    ('"b":true', '"b":"true"'),
    ('"b":true', '"b":null,"b":true'),
    ('"o":{"i":2,"s":"y"}', '"o":{}'),
    ('"o":{"i":2,"s":"y"}', '"o":{"s":"y","i":2}'),
    ('"o":{"i":2,"s":"y"}', '"o":{"i":2}'),
    ('"o":{"i":2,"s":"y"}', '"o":{"i":2,"s":"y","t":1}'),
    ('"o":{"i":2,"s":"y"}', '"o":"y"'),
    ('"o":{"i":2,"s":"y"}', '"o":[{"i":2,"s":"y"}]'),
    ('"l":["z"]', '"l":[]'),
    ('"l":["z"]', '"l":[null]'),
    ('"l":["z"]', '"l":[1]'),
    ('"l":["z"]', '"l":["z",1]'),
    ('"l":["z"]', '"l":[["z"]]'),
    ('"l":["z"]', '"l":"z"'),
    ('"n":[1]', '"n":[]'),
    ('"n":[1]', '"n":[null]'),
    ('"n":[1]', '"n":[1.0]'),
    ('"n":[1]', '"n":[1,2.5]'),
    ('"n":[1]', '"n":[true]'),
    ('"n":[1]', '"n":[9223372036854775808]'),
    ('"n":[1]', '"n":[1],"p_timestamp":1'),
    ('"n":[1]', '"n":[1],"o_i":1'),
]


@pytest.mark.parametrize("place", ["only", "first", "last"])
@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_what_is_not_alike_becomes_what_the_exact_path_makes_of_it(old, new, place):
    """reference: what Polars' reader changes without a word (docs/decisions/json-decoding.md)."""
    other = EVENT.replace(old, new)
    events = {"only": [other], "first": [other, EVENT], "last": [EVENT, other]}[place]

    spaced = [event.replace(":", ": ").replace(",", ", ") for event in events]
    for text in (f"[{','.join(events)}]", "\n".join(events), "".join(events), f"[ {','.join(spaced)}]"):
        body = text.encode(errors="surrogatepass")
        assert after(f"[{EVENT}]".encode(), body) == exactly(body)


@pytest.mark.parametrize(
    "event",
    [
        pytest.param('{"a":5.0,"b":{"c":1.5,"d":"x"},"e":1.5,"f":1.5}', id="a whole float"),
        pytest.param('{"a":5.0,"b":{"c":1.5,"d":"x"},"e":7,"f":1.5}', id="a whole float and an integer"),
        pytest.param('{"a":5.0,"b":{"c":7,"d":"x"},"e":1.5,"f":1.5}', id="and an integer in another column"),
        pytest.param('{"a":5.0,"b":null,"e":7,"f":1.5}', id="and an integer, without the object between"),
        pytest.param('{"a":5,"b":{"c":1.5,"d":"x.0,"},"e":1.5,"f":1.5}', id="text like it"),
        pytest.param('{"a":5,"b":{"c":1.5,"d":"x,"},"e":1.5,"f":1.5}', id="text like it without"),
        pytest.param('{"a":5,"b":{"c":1.5,"d":"x.0,\\"b"},"e":1.5,"f":1.5}', id="text like it with a key"),
        pytest.param('{"a":-0,"b":{"c":-0.0,"d":"x"},"e":-0.0,"f":-0}', id="minus zero"),
        pytest.param('{"a":9007199254740993,"b":{"c":1.5,"d":"x"},"e":1.5,"f":1}', id="beyond a float"),
        pytest.param('{"a":10000000000000000,"b":{"c":1.5,"d":"x"},"e":1.5,"f":1}', id="as long as a float gets"),
        pytest.param('{"a":1e3,"b":{"c":1.5,"d":"x"},"e":1.5,"f":1}', id="exponent"),
        pytest.param('{"a":true,"b":{"c":1.5,"d":"x"},"e":1.5,"f":1}', id="no number"),
    ],
)
def test_integers_and_floats_of_one_name_stay_what_they_were_sent_as(event):
    """docs/ingestion-json.md, "Types": 5 is an integer and 5.0 is not, whatever they were batched with."""
    known = '{"a":5,"b":{"c":2.5,"d":"x"},"e":2.5,"f":2.5},{"a":2.5,"b":{"c":1.5,"d":"x"},"e":1,"f":5}'
    body = f"[{known},{event}]".encode()

    assert after(f"[{known}]".encode(), body) == exactly(body)


@pytest.mark.parametrize(
    "event",
    [
        pytest.param('{"o":{"a":5,"b":{"c":1}},"p":{"g":7,"b":{"c":1}}}', id="both whole"),
        pytest.param('{"o":{"a":5.0,"b":null},"p":{"g":7,"b":{"c":1}}}', id="the wrong one whole"),
    ],
)
def test_an_integer_for_a_float_does_not_make_up_for_one_that_may_be(event):
    known = '{"o":{"a":1,"b":{"c":1}},"p":{"g":1.5,"b":{"c":1}}},{"o":{"a":1.5,"b":{"c":1}},"p":{"g":1.5,"b":{"c":1}}}'
    body = f"[{known},{event}]".encode()

    assert after(f"[{known}]".encode(), body) == exactly(body)


@pytest.mark.parametrize(("body", "types"), [(b'[{"a":5},{"a":2.5}]', "if"), (b'[{"a":2.5},{"a":5}]', "fi")])
def test_the_types_of_a_name_come_in_the_order_of_their_first_values(body, types, short_way_alone):
    decode(b'[{"a":1},{"a":1.5}]')
    short_way_alone()

    assert "".join(field.type[0] for field in decode(body).fields) == types


@pytest.mark.parametrize(
    "body",
    [
        pytest.param('{"a":1,"b":1},{"a":1,"b":1}', id="a comma on a line"),
        pytest.param('{"a":1,"b":1},{"a":1,"b":1}\n{"a":1\n"b":1}', id="as many events as lines"),
        pytest.param('{"a":1\n"b":1},{"a":1,"b":1}', id="a line feed for a comma"),
        pytest.param('{"a":1,"b":1}\n{"a":1,"b":1', id="cut off"),
        pytest.param('[{"a":1,"b":1},]', id="comma at the end"),
        pytest.param('[{"a":1,"b":1}]]', id="bracket too many"),
        pytest.param('{"a":1,"b":1}]', id="bracket without another"),
    ],
)
def test_what_is_no_json_stays_so(body):
    assert after(b'[{"a":1,"b":1}]', body.encode())[0] is InvalidJSON


@pytest.mark.parametrize(
    "body",
    [
        pytest.param('{"a":"}\n{"},{"a":"x"}', id="lines"),
        pytest.param('{"a":"}{"},{"a":"x"}', id="one behind the other"),
        pytest.param('{"a":"}{"}, {"a":"x"}', id="with a space"),
        pytest.param('{"a":"x\n{"},{"a":"x"}', id="no brace before"),
    ],
)
def test_a_joint_in_a_string_does_not_make_up_for_a_comma_between_events(body):
    """Spec 2.3 knows arrays and NDJSON; objects with commas between them are neither."""
    assert after(b'[{"a":"x"}]', body.encode())[0] is InvalidJSON


@pytest.mark.parametrize(
    "event",
    [
        pytest.param('{"a": "x y", "b": 1}', id="in a string"),
        pytest.param('{"a": "xy", "b": 1}, {"a": "x  y", "b": 1}', id="in two that differ in nothing else"),
        pytest.param('{"a": "xy", "a": "x y", "b": 1}', id="repeated key"),
        pytest.param('{"a ": "x", "b": 1}', id="in a key"),
        pytest.param('{"a": "x", "b ": null}', id="in a key of null"),
        pytest.param('{"a": "x", "b ": null}, {"a": "x", "b": 2}', id="in a key of null before another"),
        pytest.param('{"a": "x", "b": 1 2}', id="in a number"),
        pytest.param('{"a": "x", "b": - 2}', id="behind a sign"),
        pytest.param('{"a": "x", "b": nu ll}', id="in a word"),
        pytest.param('{"a": "x\n", "b": 1}', id="line feed in a string"),
        pytest.param('{"a": "\\u 0041", "b": 1}', id="in an escape"),
        pytest.param('{"a": "\\ n", "b": 1}', id="behind a backslash"),
        pytest.param('{"a": "x",\f"b": 1}', id="form feed"),
        pytest.param('{"a": "x",\u00a0"b": 1}', id="no white space of JSON"),
        pytest.param('{"a": "\udcc3 \udca9", "b": 1}', id="in a letter"),
        pytest.param('{"a": "\\ud83d \\ude00", "b": 1}', id="in a surrogate pair"),
    ],
)
def test_white_space_anywhere_ends_as_on_the_exact_path(event):
    body = f'[{{"a": "x", "b": 1}}, {event}]'.encode(errors="surrogateescape")

    assert after(b'[{"a":"x","b":1}]', body) == exactly(body)


@pytest.mark.parametrize(
    "text",
    [
        r"\u005cu00e9 é",
        r"\\u00e9 \u00e9",
        r"\\\u00e9",
        r"\u003c <",
        r"\\u003c <",
        r"\\/ /",
        r"\/ /",
        "\\u007f \x7f",
        "\x7f",
        r"\u001B",
        r"\u00E9",
        r"\ud83d\ude00",
        r"\ud83d é",
        r"\u0022",
        r"\\u0022",
    ],
)
def test_escapes_mean_what_the_exact_path_makes_of_them(text):
    body = f'[{{"a":"{text}"}}]'.encode()

    assert after(b'[{"a":"x"}]', body) == exactly(body)


def test_a_text_of_mostly_escaped_letters_is_left_to_the_exact_path():
    body = compact([{"a": "вход выполнен"}] * 3).encode()

    assert after(b'[{"a":"x"}]', body) == exactly(body)
    assert fast_path.shapes(Rules(reserved=RESERVED)).read(body) is None


@pytest.mark.parametrize(
    ("reserved", "events"),
    [
        pytest.param(RESERVED, [{"p": {"timestamp": 1}}], id="a reserved name out of an object"),
        pytest.param(frozenset({"a_b"}), [{"a": {"b": 1}}], id="a name that this request reserves"),
        pytest.param(RESERVED, [{"a": {"b": 1}, "a_b": 2}], id="two ways to one name"),
        pytest.param(RESERVED, [{"a": {}}], id="an empty object"),
        pytest.param(RESERVED, [{"a": [{"b": 1}]}], id="a list of objects"),
        pytest.param(
            RESERVED, [{"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": {"j": {"k": 1}}}}}}}}}}}], id="deep"
        ),
        pytest.param(RESERVED, [nested(200)], id="very deep"),
        pytest.param(RESERVED, [{"a": 1}, {"a": "x"}], id="two types"),
        pytest.param(RESERVED, [{"a": 1}, {"b": 1}], id="two sets of keys"),
        pytest.param(RESERVED, [{"a": []}], id="nothing but empty lists"),
        pytest.param(RESERVED, [{}], id="no keys"),
    ],
)
def test_events_without_a_schema_are_the_same_every_time(reserved, events):
    body = orjson.dumps(events)
    once, again = (decode(body, reserved=reserved) for _ in range(2))

    assert comparable(stored(again)) == comparable(stored(once))
    assert fast_path.shapes(Rules(reserved=reserved)).read(body) is None or reserved != RESERVED


# --- Any JSON ---------------------------------------------------------------------------------------------------------


@st.composite
def two_of_a_shape(draw):
    """Events that a shape may be learned from, and others of the same keys, with values of any kind."""
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "é", "}},{{"]), min_size=1, max_size=4, unique=True))
    kinds = {name: draw(st.sampled_from(["scalar", "object", "list"])) for name in names}

    def event(scalars):
        values = {
            "scalar": scalars,
            "object": st.fixed_dictionaries({"x": scalars, "y": scalars}) | st.none(),
            "list": st.lists(scalars, max_size=3) | st.none(),
        }
        return st.fixed_dictionaries({name: values[kinds[name]] for name in names})

    numbers = st.integers(-9, 9) | st.sampled_from([0.5, 5.0, 1e16])
    uniform = draw(st.sampled_from([st.integers(-9, 9), st.floats(-9, 9), numbers, TEXT, st.booleans()]))
    first = draw(st.lists(event(uniform), min_size=1, max_size=3))
    then = draw(st.lists(event(uniform) | event(uniform) | event(SCALARS), min_size=1, max_size=40))
    return first, then


@settings(max_examples=400)
@given(two_of_a_shape(), st.sampled_from(sorted(FRAMINGS)), st.booleans(), st.booleans())
def test_any_values_under_a_known_shape_are_stored_as_sent(events, framing, is_ascii, is_compact):
    first, then = events
    fast_path.shapes.cache_clear()
    decode(orjson.dumps(first))
    separators = (",", ":") if is_compact else (", ", ": ")
    separator, end = FRAMINGS[framing]
    events = [json.dumps(event, ensure_ascii=is_ascii, separators=separators).encode() for event in then]
    written = separator.join(events) + end

    batch = decode(b"[" + written + b"]" if framing == "array" else written)

    assert batch.height == len(then)
    assert comparable(stored(batch)) == comparable(model(then))


FRAGMENTS = [*b'"\\{}[],:1', *(b"},{", b"{}", b'"i":1,', b"null", b"\xff", b"\xc3", b"\\ud83d", b"e400", b"\n", b" ")]


@settings(max_examples=500)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_any_damage_to_a_known_body_ends_as_on_the_exact_path(number: random.Random, count):
    first = f"[{EVENT}]".encode()
    body = bytearray(f"[{','.join([EVENT] * 3)}]".encode())
    for _ in range(count):
        at, fragment = number.randrange(len(body)), number.choice(FRAGMENTS)
        body[at : at + number.choice([0, 1, 4])] = bytes([fragment]) if isinstance(fragment, int) else fragment

    assert after(first, bytes(body)) == exactly(bytes(body))


# --- Limits -----------------------------------------------------------------------------------------------------------


def reads(monkeypatch) -> list[bytes]:
    """The texts that Polars is given from now on."""
    given_texts = []
    original = pl.read_json

    def read(text, **options):
        given_texts.append(text)
        return original(text, **options)

    monkeypatch.setattr(pl, "read_json", read)
    return given_texts


def test_a_shape_that_keeps_failing_is_tried_ever_more_rarely(monkeypatch):
    decode(b'[{"a":1}]')
    texts = reads(monkeypatch)
    for _ in range(200):
        decode(b'[{"a":1},{"a":"x"}]')
    assert 4 <= len(texts) <= 10

    for _ in range(fast_path.LONGEST_REST + 1):
        decode(b'[{"a":1}]')
    texts.clear()
    decode(b'[{"a":2}]')
    assert texts == [b'[{"a":2}]']


def test_a_body_of_more_rows_than_its_columns_allow_is_not_handed_to_polars(monkeypatch):
    first = {f"c{number}": number for number in range(900)}
    decode(orjson.dumps([first]))
    texts = reads(monkeypatch)

    with pytest.raises(WeirError):
        decode(b"[" + orjson.dumps(first) + b",{}" * 400_000 + b"]")

    assert texts == []


def test_a_body_of_one_long_event_is_not_searched_for_its_shape(monkeypatch):
    event = {"a": "x" * fast_path.FIRST_BYTES}
    decode(orjson.dumps([event]))
    texts = reads(monkeypatch)

    assert decode(orjson.dumps([event])).height == 1
    assert texts == []


def test_an_event_as_deep_as_the_parser_goes_is_refused_as_ever():
    body = b'[{"a":' * 400 + b"1" + b"}]" * 400

    assert after(b'[{"a":1}]', body) == exactly(body)


def test_endless_shapes_are_not_remembered():
    shapes = fast_path.shapes(Rules(reserved=RESERVED))
    for number in range(3 * fast_path.MOST_SHAPES):
        decode(orjson.dumps([{f"c{number}": 1}]))

    assert len(shapes._shapes) <= fast_path.MOST_SHAPES


def test_a_column_that_changes_its_type_is_learned_anew(short_way_alone):
    decode(b'[{"a":1}]')
    decode(b'[{"a":1.5}]')
    decode(b'[{"a":1.5}]')
    short_way_alone()

    assert [field.type for field in decode(b'[{"a":2.5}]').fields] == [ColumnType.FLOAT64]


# --- Several bodies ---------------------------------------------------------------------------------------------------

SINGLES = [b'{"a":1,"b":"x"}', b' {"a":2,"b":"y"}\n', b'{"a":3,"b":"z"}\n{"a":4,"b":null}']
ARRAYS = [b'[{"a":1,"b":"x"}]', b'[{"a":2,"b":"y"},{"a":3,"b":"z"}]', b'{"a":4,"b":null}']


@pytest.mark.parametrize("bodies", [SINGLES, ARRAYS], ids=["objects", "arrays among them"])
@pytest.mark.parametrize("is_known", [False, True])
def test_several_bodies_are_decoded_together_and_counted(bodies, is_known, short_way_alone):
    if is_known:
        decode(SINGLES[0])
        short_way_alone()

    batch, counts = batch_decoding.decode(bodies, max_columns=MAX_COLUMNS)

    assert stored(batch) == {("a", "int64"): [1, 2, 3, 4], ("b", "utf8"): ["x", "y", "z", None]}
    assert counts == ([1, 1, 2] if bodies is SINGLES else [1, 2, 1])


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param([b'{"a":1', b'"b":2}', b'{"a":1,"b":2},{"a":1,"b":2}'], id="as many events as bodies"),
        pytest.param([b'{"a":1,"b":2},{"a":1,"b":2}'], id="two in one"),
        pytest.param([b'{"a":1,"b":"x"},{"a":1,"b":"x"}', b'[{"a":1,"b":"},{"}]'], id="two in one, one that seems two"),
        pytest.param([b'[{"a":1,"b":2}', b'{"a":1,"b":2}]'], id="an array over two"),
        pytest.param([b'{"a":1,"b":2', b"}"], id="a brace too late"),
        pytest.param([b'{"a":1,"b":2}', b""], id="an empty one"),
        pytest.param([b'{"a":1,"b":2}', b" "], id="a blank one"),
    ],
)
def test_bodies_that_are_json_only_together_are_refused(bodies):
    decode(b'[{"a":1,"b":"x"}]' if b"x" in bodies[0] else b'[{"a":1,"b":2}]')

    with pytest.raises(InvalidJSON):
        batch_decoding.decode(bodies, max_columns=MAX_COLUMNS)


def test_what_stands_between_events_does_not_in_a_string():
    bodies = [b'[{"a":1,"b":"x"},{"a":2,"b":"},{"}]', b'{"a":3,"b":"z"}']
    decode(bodies[1])

    batch, counts = batch_decoding.decode(bodies, max_columns=MAX_COLUMNS)

    assert counts == [2, 1]
    assert stored(batch)["b", "utf8"] == ["x", "},{", "z"]


def test_an_empty_body_among_others_has_no_events():
    assert batch_decoding.decode([b"[]", b'{"a":1}'], max_columns=MAX_COLUMNS)[1] == [0, 1]
