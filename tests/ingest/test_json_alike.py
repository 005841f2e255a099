"""Events that are alike take the short way, and nothing that the exact path would store otherwise does."""

import json
import random

import orjson
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from columns import ColumnType
from errors import InvalidJSON, WeirError
from ingest import json_alike, json_events, json_small
from ingest.builder import MAX_COLUMNS
from ingest.flatten import Rules
from ingest.json_events import RESERVED, decode
from tests.ingest.test_json_events import SCALARS, TEXT, comparable, model, stored


def nested(depth: int) -> dict:
    event: dict = {"a": 1}
    for _ in range(depth):
        event = {"a": event}
    return event


@pytest.fixture(autouse=True)
def nothing_learned():
    json_alike.shapes.cache_clear()


@pytest.fixture
def short_way_alone(monkeypatch):
    """The exact path fails; call it when something was learned."""

    def refuse(*_):
        raise AssertionError("read by the exact path")

    def begin():
        monkeypatch.setattr(json_events, "_exactly", refuse)
        monkeypatch.setattr(json_small, "_exactly", refuse)

    return begin


def exactly(body: bytes) -> object:
    """What the exact path makes of a body: the stored values, or the refusal."""
    json_alike.shapes.cache_clear()
    return outcome(body)


def outcome(body: bytes) -> object:
    try:
        batch = decode(body)
    except WeirError as error:
        return type(error), str(error), dict(error.details)
    return batch.height, list(comparable(stored(batch)).items())


def after(first: bytes, body: bytes) -> object:
    """What becomes of the body when the shape of the first has been learned."""
    json_alike.shapes.cache_clear()
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
    pytest.param([{"": 1, 'a"b': 2, "é": 3}], [{"": 5, 'a"b': 6, "é": 7}], id="names"),
]


@pytest.mark.parametrize("framing", ["array", "lines", "lines with an end"])
@pytest.mark.parametrize(("first", "then"), ALIKE)
def test_events_of_a_known_shape_are_read_without_the_exact_path(first, then, framing, short_way_alone):
    decode(orjson.dumps(first))
    short_way_alone()
    lines = b"\n".join(map(orjson.dumps, then))
    body = {"array": orjson.dumps(then), "lines": lines, "lines with an end": lines + b"\n"}[framing]

    batch = decode(body)

    assert batch.height == len(then)
    assert comparable(stored(batch)) == comparable(model(then))


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

    for text in (f"[{','.join(events)}]", "\n".join(events)):
        body = text.encode(errors="surrogatepass")
        assert after(f"[{EVENT}]".encode(), body) == exactly(body)


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
    assert json_alike.shapes(Rules(reserved=reserved)).read(body) is None or reserved != RESERVED


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

    uniform = draw(st.sampled_from([st.integers(-9, 9), st.floats(-9, 9), TEXT, st.booleans()]))
    first = draw(st.lists(event(uniform), min_size=1, max_size=3))
    then = draw(st.lists(event(uniform) | event(uniform) | event(SCALARS), min_size=1, max_size=40))
    return first, then


@settings(max_examples=400)
@given(two_of_a_shape(), st.booleans())
def test_any_values_under_a_known_shape_are_stored_as_sent(events, as_lines):
    first, then = events
    json_alike.shapes.cache_clear()
    decode(orjson.dumps(first))
    written = [json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in then]

    batch = decode(("\n".join(written) if as_lines else f"[{','.join(written)}]").encode())

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
        decode(b'[{"a":1},{"a":1.5}]')
    assert 4 <= len(texts) <= 10

    for _ in range(json_alike.LONGEST_REST + 1):
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
    event = {"a": "x" * json_alike.FIRST_BYTES}
    decode(orjson.dumps([event]))
    texts = reads(monkeypatch)

    assert decode(orjson.dumps([event])).height == 1
    assert texts == []


def test_an_event_as_deep_as_the_parser_goes_is_refused_as_ever():
    body = b'[{"a":' * 400 + b"1" + b"}]" * 400

    assert after(b'[{"a":1}]', body) == exactly(body)


def test_endless_shapes_are_not_remembered():
    shapes = json_alike.shapes(Rules(reserved=RESERVED))
    for number in range(3 * json_alike.MOST_SHAPES):
        decode(orjson.dumps([{f"c{number}": 1}]))

    assert len(shapes._shapes) <= json_alike.MOST_SHAPES


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

    batch, counts = json_small.decode(bodies, max_columns=MAX_COLUMNS)

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
    ],
)
def test_bodies_that_are_json_only_together_are_refused(bodies):
    decode(b'[{"a":1,"b":"x"}]' if b"x" in bodies[0] else b'[{"a":1,"b":2}]')

    with pytest.raises(InvalidJSON):
        json_small.decode(bodies, max_columns=MAX_COLUMNS)


def test_what_stands_between_events_does_not_in_a_string():
    bodies = [b'[{"a":1,"b":"x"},{"a":2,"b":"},{"}]', b'{"a":3,"b":"z"}']
    decode(bodies[1])

    batch, counts = json_small.decode(bodies, max_columns=MAX_COLUMNS)

    assert counts == [2, 1]
    assert stored(batch)["b", "utf8"] == ["x", "},{", "z"]


def test_an_empty_body_among_others_has_no_events():
    assert json_small.decode([b"[]", b'{"a":1}'], max_columns=MAX_COLUMNS)[1] == [0, 1]
