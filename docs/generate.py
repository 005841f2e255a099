"""Writes the generated parts of the manual: `python docs/generate.py`. A test fails when they are stale."""

import inspect
import sys
from dataclasses import fields
from pathlib import Path

DOCS = Path(__file__).parent
# As a script its own folder is on the path, not the project's: hence imports below a statement.
sys.path.insert(0, str(DOCS.parent))

import errors  # noqa: E402
from config import Settings, variable  # noqa: E402
from web.errors import STATUSES  # noqa: E402

BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"


def settings_table() -> str:
    """The table of every setting: variable, default, meaning."""
    rows = ["| variable | default | meaning |", "|---|---|---|"]
    rows += [
        f"| `{variable(each.name)}` | {_default(each.name, each.default)} | {each.metadata['meaning']} |"
        for each in fields(Settings)
    ]
    return "\n".join(rows)


def errors_table() -> str:
    """The table of every error code, by status. A code belongs to the class that sets it."""
    members = [each for _, each in inspect.getmembers(errors, inspect.isclass)]
    leaves = [each for each in members if issubclass(each, errors.WeirError) and each is not errors.WeirError]
    rows = sorted((_status(each), each.code, _sentence(each)) for each in leaves if "code" in vars(each))
    return "\n".join(["| code | status | meaning |", "|---|---|---|", *(f"| `{c}` | {s} | {m} |" for s, c, m in rows)])


def _status(leaf: type[errors.WeirError]) -> int:
    return next(STATUSES[family] for family in leaf.__mro__ if family in STATUSES)


def _sentence(leaf: type[errors.WeirError]) -> str:
    return " ".join(inspect.cleandoc(leaf.__dict__["__doc__"]).split("\n\n")[0].split())


def pages() -> dict[Path, str]:
    """Each page with a generated part, and its whole text as it should be."""
    tables = {"configuration.md": settings_table(), "errors.md": errors_table()}
    return {DOCS / name: _with(DOCS / name, table) for name, table in tables.items()}


def _default(name: str, value: object) -> str:
    if name == "query_concurrency":
        return "the host's cores"
    if name == "query_threads":
        return "the host's cores, at most 8"
    if value is None or value == ():
        return "unset"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int) and name.endswith("_bytes"):
        return f"`{value}` ({value // 1024**2} MiB)"
    return f"`{value}`"


def _with(page: Path, generated: str) -> str:
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{generated}\n{END}{after}"


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, "utf-8")
