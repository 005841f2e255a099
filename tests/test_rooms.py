"""docs/decisions/layout.md says of the layout what is true of it; `python docs/rooms.py` prints the counts."""

import re

import pytest

from docs import rooms

PAGE = (rooms.ROOT / "docs" / "decisions" / "layout.md").read_text("utf-8")
NOW = rooms.present()
EXACTLY = {"rings of rooms", "rings of modules", "longest chain of imports"}


def said_counts() -> dict[str, int]:
    rows = re.findall(r"^\| (.+?) \| [\d,]+ \| ([\d,]+) \|$", PAGE.partition("## Rooms before")[0], re.MULTILINE)
    return {name: int(now.replace(",", "")) for name, now in rows}


def said_rooms() -> dict[str, tuple[int, int]]:
    table = PAGE.partition("## Rooms now")[2].partition("## ")[0]
    rows = re.findall(r"^\| (\S+) \| (\d+) \| ([\d,]+) \|$", table, re.MULTILINE)
    return {room: (int(modules), int(lines.replace(",", ""))) for room, modules, lines in rows}


def is_near(said: int, real: int) -> bool:
    """Pages need not be written again for every line of code."""
    return abs(said - real) <= max(3, real / 4)


@pytest.mark.parametrize(("name", "count"), sorted(rooms.counts(NOW).items()))
def test_page_says_what_the_layout_is_judged_by(name: str, count: int):
    assert said_counts()[name] == count if name in EXACTLY else is_near(said_counts()[name], count)


def test_page_lists_every_room():
    assert said_rooms().keys() == NOW.rooms.keys()


@pytest.mark.parametrize("room", sorted(NOW.rooms))
def test_page_says_how_large_a_room_is(room: str):
    (said_modules, said_lines), (modules, lines) = said_rooms()[room], NOW.rooms[room]

    assert is_near(said_modules, modules)
    assert abs(said_lines - lines) <= max(100, lines / 4)


def test_rings_and_chains_are_found():
    layout = rooms.layout_of(
        {
            "a/x/one.py": "from a.y import two\n",
            "a/y/two.py": "from a.x import other\nimport errors\n",
            "a/x/other.py": "",
            "b.py": "import a.x.one\nfrom c import thing\n",
            "c.py": "import b\n",
            "errors.py": "",
        }
    )

    assert layout.rings_of_rooms == [{"a.x", "a.y"}, {"b", "c"}] or layout.rings_of_rooms == [
        {"b", "c"},
        {"a.x", "a.y"},
    ]
    # c > b (a ring) > a.x.one > a.y.two > errors
    assert layout.longest_chain == 5
    assert layout.rooms["a.x"] == (2, 1)
