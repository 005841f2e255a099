"""Rows on a terminal: a table where every value is whole, else one line for each."""

import pytest

from weirctl.events import _place
from weirctl.printing import expand, fits
from weirctl.questions import pointed_at


@pytest.mark.parametrize(
    ("cells", "width", "expected"),
    [
        ([["a", "b"]], 20, True),
        ([["a" * 30, "b"]], 20, False),
        ([["a", "b" * 500]], 40, True),
        ([["語" * 10, "b"]], 26, False),
        ([], 20, True),
    ],
)
def test_table_only_where_it_is_readable(cells: list[list[str]], width: int, expected: bool) -> None:
    assert fits(["x", "y"], cells, width) is expected


def test_expanded_form_cuts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    expand(["id", "message"], [["1", "m" * 500], ["2", ""]])

    assert capsys.readouterr().out.splitlines() == [
        "-[ record 1 ]--------------",
        "id      | 1",
        f"message | {'m' * 500}",
        "-[ record 2 ]--------------",
        "id      | 2",
        "message | ",
    ]


@pytest.mark.parametrize("position", [None, 0, 99, "7"])
def test_nothing_is_pointed_at_without_a_place(position: object) -> None:
    assert pointed_at("SELECT 1", position) == ""


def test_the_character_of_the_right_line_is_pointed_at() -> None:
    assert pointed_at("SELECT n\nFROM app", 15) == "\n  FROM app\n       ^"


@pytest.mark.parametrize(
    ("line", "said", "place"),
    [
        (1, {"position": 9}, "line 2: "),
        (11, {"position": 0}, "line 11 (lines before 11 are stored): "),
        (1, {"index": 1}, "line 3: "),
        # Behind the last line, where a value that is missing there is missed.
        (1, {"position": 13}, "line 3: "),
        (1, {}, ""),
    ],
)
def test_the_line_of_bad_input_is_counted_from_the_beginning_of_the_file(
    line: int, said: dict[str, int], place: str
) -> None:
    assert _place(b'{"a": 1}\n\n[]\n', line, said) == place
