"""The rules of types, widening and siblings (api.md section 4, Types)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from columns import POLARS_TYPES, WIDER, Batch, ColumnType, Field
from ingest.json.decoding import decode
from models.column import Change, Column, Schema
from storage.write.column_mapping import EXACT, adopt, apply, large, plan

BOOL, INT, FLOAT, TEXT, JSON, INTS, FLOATS = (
    ColumnType.BOOL,
    ColumnType.INT64,
    ColumnType.FLOAT64,
    ColumnType.UTF8,
    ColumnType.JSON,
    ColumnType.LIST_INT64,
    ColumnType.LIST_FLOAT64,
)


def schema(*columns: Column) -> Schema:
    return Schema(1, columns)


def batch(*columns: tuple[str, ColumnType, Sequence[object]]) -> Batch:
    series = tuple(pl.Series(name, values, dtype=POLARS_TYPES[kind]) for name, kind, values in columns)
    return Batch(tuple(Field(name, kind) for name, kind, _ in columns), series, len(columns[0][2]))


def store(sent: Batch, stored: Schema) -> tuple[dict[str, list[object]], Change]:
    """The stored columns and the change that the schema needs for them."""
    made = plan(sent.fields, large(sent), stored)
    return {each.name: each.to_list() for each in apply(made.routes, sent.columns)}, made.change


def test_same_type_goes_to_the_column_itself() -> None:
    rows, change = store(batch(("x", INT, [1, None])), schema(Column("x", INT)))

    assert rows == {"x": [1, None]}
    assert not change


def test_new_name_gets_a_column_of_its_type() -> None:
    rows, change = store(batch(("x", JSON, ["{}"])), schema())

    assert rows == {"x": ["{}"]}
    assert change == Change(add=(Field("x", JSON),))


def test_exact_integers_go_into_a_float_column() -> None:
    rows, change = store(batch(("x", INT, [1, -EXACT, EXACT])), schema(Column("x", FLOAT)))

    assert rows == {"x": [1.0, float(-EXACT), float(EXACT)]}
    assert not change


def test_each_inexact_integer_goes_to_the_sibling_of_a_float_column() -> None:
    rows, change = store(batch(("x", INT, [1, EXACT + 1, None, -(2**63)])), schema(Column("x", FLOAT)))

    assert rows == {"x": [1.0, None, None, None], "x_int64": [None, EXACT + 1, None, -(2**63)]}
    assert change == Change(add=(Field("x_int64", INT),), hold_large=("x_int64",))


def test_float_widens_an_integer_column() -> None:
    rows, change = store(batch(("x", FLOAT, [1.5])), schema(Column("x", INT)))

    assert rows == {"x": [1.5]}
    assert change == Change(widen=("x",))


def test_float_leaves_a_column_of_large_integers_and_goes_to_the_sibling() -> None:
    rows, change = store(batch(("x", FLOAT, [1.5])), schema(Column("x", INT, holds_large=True)))

    assert rows == {"x_float64": [1.5]}
    assert change == Change(add=(Field("x_float64", FLOAT),))


def test_first_large_integer_marks_its_column_before_it_is_stored() -> None:
    rows, change = store(batch(("x", INT, [EXACT + 1])), schema(Column("x", INT)))

    assert rows == {"x": [EXACT + 1]}
    assert change == Change(hold_large=("x",))


def test_marked_column_needs_no_further_change() -> None:
    assert not store(batch(("x", INT, [EXACT + 1])), schema(Column("x", INT, holds_large=True)))[1]


@pytest.mark.parametrize("first", [INT, FLOAT], ids=["integer first", "float first"])
def test_integers_and_floats_of_a_new_name_make_one_float_column(first: ColumnType) -> None:
    columns = {INT: ("x", INT, [1, None]), FLOAT: ("x", FLOAT, [None, 1.5])}
    second = FLOAT if first is INT else INT

    rows, change = store(batch(columns[first], columns[second]), schema())

    assert rows == {"x": [1.0, 1.5]}
    assert change == Change(add=(Field("x", FLOAT),))


def test_large_integer_seen_first_owns_the_name_and_the_float_goes_beside_it() -> None:
    rows, change = store(batch(("x", INT, [EXACT + 1, None]), ("x", FLOAT, [None, 1.5])), schema())

    assert rows == {"x": [EXACT + 1, None], "x_float64": [None, 1.5]}
    assert change == Change(add=(Field("x", INT), Field("x_float64", FLOAT)), hold_large=("x",))


def test_float_seen_first_owns_the_name_and_only_large_integers_go_beside_it() -> None:
    sent = batch(("x", FLOAT, [0.5, None, None]), ("x", INT, [None, EXACT + 1, 7]))

    rows, _ = store(sent, schema())

    assert rows == {"x": [0.5, None, 7.0], "x_int64": [None, EXACT + 1, None]}


def test_integers_and_floats_that_meet_an_integer_column_widen_it() -> None:
    rows, change = store(batch(("x", INT, [1, None]), ("x", FLOAT, [None, 1.5])), schema(Column("x", INT)))

    assert rows == {"x": [1.0, 1.5]}
    assert change == Change(widen=("x",))


def test_large_integer_and_float_that_meet_an_integer_column_keep_it_integer() -> None:
    rows, change = store(batch(("x", INT, [2**60, None]), ("x", FLOAT, [None, 1.5])), schema(Column("x", INT)))

    assert rows == {"x": [2**60, None], "x_float64": [None, 1.5]}
    assert change == Change(add=(Field("x_float64", FLOAT),), hold_large=("x",))


def test_any_other_type_goes_to_the_sibling_named_after_it() -> None:
    rows, change = store(batch(("x", TEXT, ["a"])), schema(Column("x", INT)))

    assert rows == {"x_utf8": ["a"]}
    assert change == Change(add=(Field("x_utf8", TEXT),))


def test_sibling_of_another_type_is_passed_by() -> None:
    rows, _ = store(batch(("x", TEXT, ["a"])), schema(Column("x", INT), Column("x_utf8", BOOL)))

    assert rows == {"x_utf8_utf8": ["a"]}


def test_sibling_never_takes_the_name_that_an_event_uses_itself() -> None:
    sent = batch(("x", TEXT, ["conflict"]), ("x_utf8", TEXT, ["own"]))

    assert store(sent, schema(Column("x", INT)))[0] == {"x_utf8": ["own"], "x_utf8_utf8": ["conflict"]}
    assert store(sent, schema(Column("x", INT), Column("x_utf8", TEXT)))[0] == {
        "x_utf8": ["own"],
        "x_utf8_utf8": ["conflict"],
    }


def test_types_of_a_new_name_beside_numbers_keep_apart() -> None:
    sent = batch(("x", BOOL, [True, None, None]), ("x", INT, [None, 1, None]), ("x", FLOAT, [None, None, 1.5]))

    rows, _ = store(sent, schema())

    assert rows == {"x": [True, None, None], "x_int64": [None, 1, None], "x_float64": [None, None, 1.5]}


def test_lists_and_json_go_to_siblings_like_everything_else() -> None:
    sent = batch(("x", ColumnType.LIST_INT64, [[1], None]), ("x", JSON, [None, '{"a":1}']))

    rows, _ = store(sent, schema(Column("x", TEXT)))

    assert rows == {"x_list_int64": [[1], None], "x_json": [None, '{"a":1}']}


def test_lists_of_integers_are_to_lists_of_floats_as_integers_are_to_floats() -> None:
    """collectd sends the values of one plug-in as `[1]` or `[0.5]`, as they happen to be."""
    widened = store(batch(("x", FLOATS, [[0.5]])), schema(Column("x", INTS)))
    assert widened == ({"x": [[0.5]]}, Change(widen=("x",)))

    rows, change = store(batch(("x", INTS, [[1, None], [], None, [1, EXACT + 1]])), schema(Column("x", FLOATS)))
    assert rows == {"x": [[1.0, None], [], None, None], "x_list_int64": [None, None, None, [1, EXACT + 1]]}
    assert change == Change(add=(Field("x_list_int64", INTS),), hold_large=("x_list_int64",))


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (INTS, [[], [None], None]),
        (FLOATS, [[], [None], None]),
        (ColumnType.LIST_BOOL, [[], [None], None]),
        (JSON, ["[]", "[null]", None]),
    ],
)
def test_lists_without_elements_are_of_the_type_that_is_stored(stored: ColumnType, expected: list[object]) -> None:
    known = schema(Column("x", stored))
    sent = adopt(batch(("x", ColumnType.LIST_UTF8, [[], [None], None])), known)

    assert store(sent, known) == ({"x": expected}, Change())


def test_a_list_with_an_element_is_what_it_is() -> None:
    sent = batch(("x", ColumnType.LIST_UTF8, [[], ["a"]]))

    assert adopt(sent, schema(Column("x", INTS))) == sent


VALUES = {
    BOOL: st.booleans(),
    INT: st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5),
    FLOAT: st.floats(allow_nan=False),
    TEXT: st.text(max_size=3),
    INTS: st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), min_size=1, max_size=3),
    FLOATS: st.lists(st.floats(allow_nan=False), min_size=1, max_size=3),
}
NAMES = st.sampled_from(["x", "x_int64", "x_float64", "x_utf8", "x_int64_int64", "x_list_int64"])


def kind_of(value: object) -> ColumnType | None:
    """What a decoder says of a value."""
    scalars: dict[type, ColumnType] = {bool: BOOL, int: INT, float: FLOAT, str: TEXT}
    if isinstance(value, list):
        return INTS if type(value[0]) is int else FLOATS
    return scalars.get(type(value))


@st.composite
def batches(draw: st.DrawFn) -> list[Batch]:
    """Batches whose events hold any value under any of a few names that are likely to collide."""
    made = []
    for events in draw(st.lists(st.lists(st.dictionaries(NAMES, st.one_of(*VALUES.values())), min_size=1, max_size=4))):
        fields = list(dict.fromkeys((name, kind_of(value)) for event in events for name, value in event.items()))
        columns = [
            (name, kind, [event[name] if kind_of(event.get(name)) is kind else None for event in events])
            for name, kind in fields
            if kind is not None
        ]
        made.append(batch(*columns) if columns else Batch((), (), len(events)))
    return made


def evolve(stored: Schema, change: Change) -> Schema:
    """What models.column.evolve does, without rivals."""
    columns = dict(stored.by_name)
    columns.update({each.name: Column(each.name, each.type) for each in change.add})
    for name in change.hold_large:
        columns[name] = Column(name, columns[name].type, holds_large=True)
    for name in change.widen:
        columns[name] = Column(name, WIDER[columns[name].type])
    return Schema(1, tuple(columns.values()))


@given(batches())
def test_every_value_of_every_event_is_stored_exactly_once_and_unchanged(sent: list[Batch]) -> None:
    """Nothing fails and nothing is lost, whatever meets whatever, in any order."""
    stored = schema()
    kept = []
    for each in sent:
        made = plan(each.fields, large(each), stored)
        stored = evolve(stored, made.change)
        settled = plan(each.fields, large(each), stored)
        rows = apply(settled.routes, each.columns).get_columns()
        assert not settled.change
        assert set(settled.routes) == set(made.routes)
        assert len({one.name for one in rows}) == len(rows)
        assert all(one.dtype == POLARS_TYPES[stored.by_name[one.name].type] for one in rows)
        kept.append((_values(each.columns, each.height), _values(rows, each.height)))

    for before, after in kept:
        assert before == after


def _values(columns: Sequence[pl.Series], height: int) -> list[Counter[tuple[str, object]]]:
    """The values of each row, without their names: numbers by value, everything else by type and value."""
    lists = [column.to_list() for column in columns]
    rows = [[values[index] for values in lists] for index in range(height)]
    return [Counter(_key(value) for value in row if value is not None) for row in rows]


def _key(value: object) -> tuple[str, object]:
    if isinstance(value, list):
        return ("list", tuple(value))
    return ("number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__, value)


def test_a_field_with_the_empty_name_keeps_it() -> None:
    """JSON has such members; Polars calls an unnamed series `column_0`."""
    rows, _ = store(batch(("", INT, [1, None])), schema(Column("", INT)))

    assert rows == {"": [1, None]}


@pytest.mark.parametrize("columns", [(), (Column("x", INT),), (Column("x", TEXT),)], ids=["new", "integer", "text"])
def test_oversized_integer_never_takes_the_name(columns: tuple[Column, ...]) -> None:
    """api.md section 4: an integer outside int64 goes to `<name>_utf8`, also when it comes first."""
    sent = replace(batch(("x", TEXT, [str(2**64)])), fields=(Field("x", TEXT, displaced=True),))

    rows, _ = store(sent, schema(*columns))

    assert rows == {"x_utf8": [str(2**64)]}


def test_oversized_integer_leaves_its_name_to_what_comes_after_it() -> None:
    decoded = decode(b'[{"x":18446744073709551616},{"x":7},{"x":"a"}]')

    rows, change = store(decoded, schema())

    assert rows == {"x": [None, 7, None], "x_utf8": [str(2**64), None, "a"]}
    assert change == Change(add=(Field("x", INT), Field("x_utf8", TEXT)))
