"""Where a record is in its segment, as its header tells. Knows no rows, and reads nothing."""

from typing import NamedTuple


class RecordLocation(NamedTuple):
    """Where a record is in its segment, and its header: first and last time (ns since 1970), the number of rows, and
    the size of the request bodies that they came in.

    `gathered`: the rows are those of several records of `[start, end)`, and stand here in the gathered file.
    """

    start: int
    end: int
    tmin: int
    tmax: int
    rows: int
    body_bytes: int
    gathered: tuple[int, int] | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Where the record begins and ends, in the gathered file or in the segment."""
        return self.gathered or (self.start, self.end)

    def may_be_in(self, start: int | None, end: int | None) -> bool:
        """Whether the record may have a row in `[start, end)`."""
        return (start is None or self.tmax >= start) and (end is None or self.tmin < end)

    def is_in(self, start: int | None, end: int | None) -> bool:
        """Whether all rows of the record are in `[start, end)`."""
        return (start is None or self.tmin >= start) and (end is None or self.tmax < end)
