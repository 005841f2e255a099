"""The SQLContext that runs a query's relational part: frames registered under generated names, text generated here.

Nothing of the user's statement is in the text: tables are t1, t2, columns c1, c2.
"""

import polars as pl


class Statements:
    """One query's SQLContext. `log` keeps what was run, for EXPLAIN."""

    def __init__(self) -> None:
        self._context = pl.SQLContext()
        self._count = 0
        self.log: list[str] = []

    def name(self, frame: pl.LazyFrame) -> str:
        """Registers a frame; returns its name for the text."""
        self._count += 1
        name = f"t{self._count}"
        self._context.register(name, frame)
        return name

    def run(self, text: str) -> pl.LazyFrame:
        """The lazy result of a generated statement."""
        self.log.append(f"SQLContext: {text}")
        return self._context.execute(text, eager=False)

    def note(self, step: str) -> None:
        """Notes a step that is compiled beside SQLContext."""
        self.log.append(f"compiled: {step}")


def quote(identifier: str) -> str:
    return f'"{identifier}"'


def quote_all(identifiers: list[str]) -> str:
    return ", ".join(quote(identifier) for identifier in identifiers)
