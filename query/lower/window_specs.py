"""What window functions are computed over: a partition, its order, and the frame where no clause says another."""

from dataclasses import dataclass
from typing import Final

from query.plan.tree import Bound, Frame, Scalar, SortKey

WHOLE: Final = Frame("range", Bound("unbounded_preceding"), Bound("unbounded_following"))
DEFAULT: Final = Frame("range", Bound("unbounded_preceding"), Bound("current"))


@dataclass(frozen=True, slots=True)
class Spec:
    """What calls have to share to be computed over one sorting."""

    partition: tuple[Scalar, ...]
    order: tuple[SortKey, ...]

    @property
    def values(self) -> tuple[Scalar, ...]:
        """What rows are divided and sorted by."""
        return (*self.partition, *(key.value for key in self.order))
