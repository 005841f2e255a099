"""Window specifications: a partition, its order, and the default frame."""

from dataclasses import dataclass
from typing import Final

from query.plan.tree import Bound, Frame, Scalar, SortKey

WHOLE: Final = Frame("range", Bound("unbounded_preceding"), Bound("unbounded_following"))
DEFAULT: Final = Frame("range", Bound("unbounded_preceding"), Bound("current"))


@dataclass(frozen=True, slots=True)
class Spec:
    """The partition and order that calls must share to use one sort."""

    partition: tuple[Scalar, ...]
    order: tuple[SortKey, ...]

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The expressions that rows are partitioned and sorted by."""
        return (*self.partition, *(key.value for key in self.order))
