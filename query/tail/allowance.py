"""How many rows a client wants at most in a second."""

from time import monotonic


class Allowance:
    """Grants `rows_per_second` rows, those of one second at once; None: all."""

    def __init__(self, rows_per_second: int | None) -> None:
        self._rate = rows_per_second
        self._left = float(rows_per_second or 0)
        self._at = monotonic()

    def take(self, rows: int) -> int:
        """How many of so many rows may go out now.

        >>> Allowance(None).take(7), Allowance(5).take(7)
        (7, 5)
        """
        if self._rate is None:
            return rows
        now = monotonic()
        self._left = min(float(self._rate), self._left + (now - self._at) * self._rate)
        self._at = now
        taken = min(rows, int(self._left))
        self._left -= taken
        return taken
