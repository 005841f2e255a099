"""The order of jsonb values: PostgreSQL documentation, "jsonb Indexing" (api.md section 5)."""

import pytest

from query.pg.json_order import comparison_key

ORDERED = (
    *(
        "[]",
        "null",
        '""',
        '"a"',
        '"ab"',
        '"é"',
        "-100",
        "-99.5",
        "-1.5",
        "-1",
        "-0.001",
        "0",
        "1e-5",
        "0.5",
        "1",
        "99.5",
    ),
    *("100", "1e10", "false", "true", "[null]", '["ab"]', "[5]", "[[]]", '[{"a": 1}]', "[0, 5]", "{}", '{"a": 1}'),
    *('{"a": 2}', '{"b": 1}', '{"a": 1, "b": 1}', '{"a": 1, "b": 2}'),
)


def test_documents_sort_by_kind_size_and_content() -> None:
    keys = [comparison_key(text) for text in ORDERED]

    assert keys == sorted(keys)
    assert len(set(keys)) == len(ORDERED)


@pytest.mark.parametrize(
    ("left", "right"),
    [("1", "1.00"), ("-0.0", "0"), ("1e2", "100"), ('{"a":1,"b":[1.0]}', '{"b": [1], "a": 1}'), ('"\\u00e9"', '"é"')],
)
def test_equal_documents_have_one_key(left: str, right: str) -> None:
    assert comparison_key(left) == comparison_key(right)
