"""The queries: read from `tests/oracle/corpus/<topic>.jsonl`, one JSON object per line, and the lists beside them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ORACLE: Final = Path(__file__).resolve().parents[1]
CORPUS: Final = ORACLE / "corpus"
KEPT_FAILURES: Final = ORACLE / "kept_failures.jsonl"
REFUSALS: Final = ORACLE / "refusals.txt"
KNOWN_WRONG: Final = ORACLE / "known_wrong.txt"


@dataclass(frozen=True)
class Query:
    """One query. `ordered`: the order of rows is part of the answer. `error`: PostgreSQL's SQLSTATE, where it fails.
    `zone`: the session's time zone, as PostgreSQL names it; nothing: UTC."""

    id: str
    sql: str
    ordered: bool = False
    error: str | None = None
    zone: str = ""

    @property
    def topic(self) -> str:
        return self.id.rpartition("-")[0]


def every_query() -> list[Query]:
    """All queries of all topics, and the kept failures of the generator."""
    paths = [*sorted(CORPUS.glob("*.jsonl")), KEPT_FAILURES]
    return [query for path in paths if path.exists() for query in read(path)]


def read(path: Path) -> list[Query]:
    """The queries of one file."""
    return [_query(json.loads(line)) for line in path.read_text("utf-8").splitlines() if line.strip()]


def write(path: Path, queries: Iterable[Query]) -> None:
    """Replace a file by these queries."""
    path.write_text("".join(_line(query) + "\n" for query in queries), "utf-8")


def read_list(path: Path) -> dict[str, str]:
    """Query ids with the remark after each: lines `id  remark`, and comments after `#`."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    pairs = (line.split(None, 1) for line in lines if line.strip() and not line.startswith("#"))
    return {pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs}


def write_list(path: Path, title: str, ids: Mapping[str, str]) -> None:
    """Replace a list. A remark is cut to one line."""
    lines = (f"{query}  {' '.join(remark.split())[:160]}" for query, remark in ids.items())
    path.write_text("\n".join([f"# {title} It may only shrink: see test_corpus.py.", *lines]) + "\n", "utf-8")


def _query(member: dict[str, object]) -> Query:
    error = member.get("error")
    ordered = bool(member.get("ordered", False))
    zone = str(member.get("zone", ""))
    return Query(str(member["id"]), str(member["sql"]), ordered, None if error is None else str(error), zone)


def _line(query: Query) -> str:
    members: dict[str, object] = {"id": query.id, "sql": query.sql}
    if query.ordered:
        members["ordered"] = True
    if query.error is not None:
        members["error"] = query.error
    if query.zone:
        members["zone"] = query.zone
    return json.dumps(members, ensure_ascii=False)
