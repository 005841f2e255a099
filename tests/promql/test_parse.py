"""Text to tree: positions, mending, and what is refused in Prometheus' words."""

import pytest

from errors import InvalidPromQL
from promql import tree
from promql.format import formatted
from promql.parse import parse


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: parse error: no expression found in input"),
        ("up[5m] smoothed", "1:8: parse error: smoothed modifier is experimental and not enabled"),
        ("a + fill(0) b", "1:5: parse error: binop fill modifiers are experimental and not enabled"),
        ("rate(x[5m + 1m])", "1:8: parse error: experimental duration expression is not enabled"),
        ("limitk(1, x)", "limitk() is experimental and must be enabled with --enable-feature="),
        ('x{a="b" or c="d"}', 'unexpected identifier "or" in label matching'),
        ("1 == 1", "comparisons between scalars must use BOOL modifier"),
        ("x{", "unexpected end of input"),
        ("x ; y", "1:3: parse error: unexpected character: ';'"),
        ('x{__name__="y"}', "metric name must not be set twice"),
        ("x[0s]", "duration must be greater than 0"),
    ],
)
def test_error_is_prometheus(text: str, message: str):
    with pytest.raises(InvalidPromQL) as raised:
        parse(text)

    assert message in raised.value.message


def test_positions_are_those_of_the_text():
    """Prometheus' warnings name the place of an argument: util/annotations."""
    node = parse("sum by (a) (\n  rate(x[5m])) / y")

    assert isinstance(node, tree.Binary)
    assert isinstance(node.left, tree.Aggregate)
    inner = node.left.expr
    assert isinstance(inner, tree.Call)
    assert (node.left.at, inner.at, inner.args[0].at, node.right.at) == (0, 15, 20, 30)


@pytest.mark.parametrize("operator", ["</", ">/"])
def test_trimming_operators_are_read(operator: str):
    """The parser does not know them: promql/outline.py mends them."""
    node = parse(f"x {operator} 5 + 1")

    assert isinstance(node, tree.Binary)
    assert (node.operation, formatted(node)) == (operator, f"x {operator} 5 + 1")


def test_info_may_have_only_empty_matchers():
    node = parse('info(x, {a=~".*"})', experimental=True)

    assert isinstance(node, tree.Call)
    assert node.args[1].matchers == (tree.Matcher("a", "=~", ".*"),)  # type: ignore[union-attr]


@pytest.mark.parametrize(("text", "ms"), [("x @ -1.5", -1500), ("x @ 1m40s", 100_000), ("x @ 0x10", 16_000)])
def test_fixed_times_are_read_exactly(text: str, ms: int):
    """The parser's times begin in 1970."""
    node = parse(text)

    assert isinstance(node, tree.Selector)
    assert node.fixed == ms


@pytest.mark.parametrize("text", ["(" * 200 + "1" + ")" * 200, "1" + "+1" * 3_000, "-" * 3_000 + "1", "x" * 200_000])
def test_what_could_exhaust_the_parser_is_refused(text: str):
    with pytest.raises(InvalidPromQL):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        'sum by (job) (rate(x{a="b"}[5m] offset 1m))',
        "a + on (x) group_left (y) b",
        "max_over_time(x[5m:1m] @ end() offset 1m)",
        'label_replace(x, "a", "$1", "b", "(.*)")',
        "-x ^ 2",
        '{"with.dots","a.b"="c"}',
        "x > bool 1",
        "1e-09 + Inf",
    ],
)
def test_formatted_text_means_the_same(text: str):
    assert formatted(parse(formatted(parse(text)))) == formatted(parse(text))


def test_times_at_the_ends_of_what_can_be_counted_are_no_fault():
    from_the_past, to_the_future = parse("x @ -9e15"), parse("x[100y] @ 9e15 offset 100y")

    assert isinstance(from_the_past, tree.Selector)
    assert isinstance(to_the_future, tree.Range)
    assert (from_the_past.fixed, to_the_future.selector.fixed) == (-(2**60), 2**60)
