"""Texts read by templates, to_timestamp and to_number: thousands of random pairs, each as PostgreSQL reads it.

Most texts nearly fit their template, since those are where leniency and strictness meet.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Final

import psycopg
import pytest

import query.functions  # noqa: F401  (fills the registry that the readers below are of)
from query.functions.number_reading import SCALE, number_reader
from query.functions.time_reading import reader
from query.pg.bad_values import BadLiteral, UnsupportedLiteral
from query.pg.time_zones import zone_named
from query.pg.timestamps import EPOCH

PAIRS: Final = 12_000
FAR: Final = "far"
"""Outside of the years 1 to 9999, which we refuse."""
READ_TIME: Final = """
    CREATE FUNCTION pg_temp.shown(text, text) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE found timestamptz;
    BEGIN
        found := to_timestamp($1, $2);
        IF NOT found BETWEEN '0001-01-01 00:00Z' AND '9999-12-31 23:59Z' THEN RETURN 'far'; END IF;
        RETURN (extract(epoch FROM found) * 1000000)::bigint;
    EXCEPTION WHEN OTHERS THEN RETURN 'error'; END $$"""
READ_NUMBER: Final = """
    CREATE FUNCTION pg_temp.shown(text, text) RETURNS text LANGUAGE plpgsql AS $$
    BEGIN RETURN to_number($1, $2); EXCEPTION WHEN OTHERS THEN RETURN 'error'; END $$"""
FIELDS: Final = (
    *("YYYY", "MM", "DD", "HH24", "MI", "SS", "YY", "Mon", "Month", "DDD", "HH12", "AM", "p.m.", "MS", "US", "FF3"),
    *("IYYY", "IW", "ID", "J", "CC", "Q", "WW", "W", "D", "Y,YYY", "YYY", "Y", "Day", "Dy", "RM", "BC"),
    *("TZH", "TZM", "OF", "TZ", "SSSSS"),
)
USUAL: Final = (
    "YYYY MM DD",
    "YYYY MM DD HH24 MI SS",
    "DD Mon YYYY",
    "IYYY IW ID",
    "YYYY MM DD HH12 MI AM TZH",
    "YYYY DDD",
)
SEPARATORS: Final = ("-", " ", "/", ":", "", ".", "T", "  ", " - ", '"at"', "_")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_times_are_read_as_postgresql_reads_them(postgres: str, zone: str) -> None:
    random = Random(7)
    pairs = [_near(random, *_time(random)) for _ in range(PAIRS)]

    _compare(pairs, _shown(postgres, READ_TIME, pairs, zone), lambda text, template: _read(text, template, zone))


def test_numbers_are_read_as_postgresql_reads_them(postgres: str) -> None:
    random = Random(7)
    pairs = [(_number(random), _number_template(random)) for _ in range(PAIRS)]
    theirs = [
        each if each == "error" else str(Decimal(each).normalize()) for each in _shown(postgres, READ_NUMBER, pairs)
    ]

    _compare(pairs, theirs, _read_number)


def _read_number(text: str, template: str) -> str:
    read = number_reader(template)
    if read is None:
        raise UnsupportedLiteral(template)
    return str(Decimal(read(text).number).scaleb(-SCALE).normalize())


def _read(text: str, template: str, zone: str) -> str:
    return str((reader(template, zone_named(zone))(text) - EPOCH) // timedelta(microseconds=1))


def _shown(url: str, function: str, pairs: Sequence[tuple[str, str]], zone: str = "UTC") -> list[str]:
    """What PostgreSQL makes of each pair."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SET timezone = '{zone}'")
        connection.execute(function.encode())
        rows = connection.execute(
            "SELECT pg_temp.shown(a, b) FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS u (a, b, n) ORDER BY n",
            tuple(map(list, zip(*pairs, strict=True))),
        )
        return [shown for (shown,) in rows]


def _compare(pairs: Sequence[tuple[str, str]], theirs: Sequence[str], read: Callable[[str, str], str]) -> None:
    """Every answer is equal and every error an error; what is refused is a small part, and of years that are far."""
    ours = [_outcome(read, *pair) for pair in pairs]
    found = list(zip(pairs, theirs, ours, strict=True))
    assert [each for each in found if each[2] != "refused" and each[1] != each[2]] == []
    refused = [each for each in found if each[2] == "refused" and each[1] not in (FAR, "error")]
    assert len(refused) < len(pairs) // 100, refused[:5]
    assert sum(each[1] not in (FAR, "error") for each in found) > len(pairs) // 4


def _outcome(read: Callable[[str, str], str], text: str, template: str) -> str:
    try:
        return read(text, template)
    except BadLiteral:
        return "error"
    except UnsupportedLiteral:
        return "refused"


def _time(random: Random) -> tuple[str, str]:
    """A text and its template: those that people write, and any."""
    chosen = random.choice(USUAL).split() if random.random() < 0.6 else random.choices(FIELDS, k=random.randint(1, 5))
    moment = datetime(
        random.choice((2020, 1999, 987)), random.randint(1, 12), random.randint(1, 28), random.randint(0, 23)
    )
    text, template, modifier = "", "", random.choice(("", "", "", "", "FM"))
    for name in chosen:
        separator = random.choice(SEPARATORS) if template else ""
        template += separator + modifier + random.choice((name, name, name.lower()))
        text += separator.strip('"') if random.random() < 0.85 else random.choice((" ", "", "-", "  "))
        text += _field(name, moment, random)
    return text, random.choice(("", "", "", "FX")) + template


def _field(name: str, moment: datetime, random: Random) -> str:
    formats = {"YYYY": "%Y", "MM": "%m", "DD": "%d", "HH24": "%H", "HH12": "%I", "MI": "%M", "SS": "%S", "DDD": "%j"}
    formats |= {"Mon": "%b", "Month": "%B", "Day": "%A", "Dy": "%a", "IYYY": "%G", "IW": "%V", "ID": "%u", "YY": "%y"}
    texts = {
        "AM": "PM",
        "p.m.": "a.m.",
        "RM": "viii",
        "BC": "AD",
        "Y,YYY": "2,020",
        "TZH": random.choice(("+05", "-7")),
    }
    texts |= {"OF": random.choice(("+05:30", "-7")), "TZ": random.choice(("UTC", "EST", "+02", "Z")), "J": "2458876"}
    shown = texts.get(name) or moment.strftime(formats.get(name, "%d").replace("%Y", f"{moment.year:04}"))
    return shown.lstrip("0") or "0" if random.random() < 0.1 else shown


def _near(random: Random, text: str, template: str) -> tuple[str, str]:
    """The pair, two in five times with a character of the text more, less, or another."""
    at = random.randint(0, len(text))
    inserted, left_out = random.choice((" ", "-", "/", "+", "0", "9", "a", ".")), random.randint(0, 1)
    return (
        (text[:at] + inserted * random.randint(0, 1) + text[at + left_out :], template)
        if random.random() < 0.4
        else (text, template)
    )


def _number(random: Random) -> str:
    if random.random() < 0.5:
        return "".join(random.choice("0123456789.,-+< a>") for _ in range(random.randint(0, 8)))
    shown = format(random.choice((0, 1, 12, 1234, 98765, 3.5, 12.75, 1234.567, 0.05)), random.choice(("", ",", ".2f")))
    return random.choice(("", "", "-", "+", " ", "<", "$")) + shown + random.choice(("", "", "-", "+", ">", " ", "%"))


def _number_template(random: Random) -> str:
    whole = "".join(random.choice("9990,G") for _ in range(random.randint(1, 6)))
    fraction = random.choice(".D") + "".join(random.choice("90") for _ in range(random.randint(0, 3)))
    body = whole + (fraction if random.random() < 0.6 else "")
    if random.random() < 0.3:
        at = random.randint(0, len(body))
        body = (
            body[:at] + random.choice(("L", "TH", "PL", "SG", "mi", "$", " ", '"ab"', "%", "S", "PR", ".")) + body[at:]
        )
    before, behind = (
        random.choice(("", "", "", "S", "L", "$", "SG", "PL")),
        random.choice(("", "S", "MI", "PR", "PL", "SG", "TH")),
    )
    return random.choice(("", "", "", "FM")) + (before + body if random.random() < 0.5 else body + behind)
