"""What a cluster cannot compute exactly as PostgreSQL would."""

from errors import UnsupportedOnCluster
from query.fault import FEATURE_NOT_SUPPORTED


class NotOnCluster(Exception):
    """Of a part of a plan; `construct` names it, as the user knows it."""

    def __init__(self, construct: str, position: int | None = None) -> None:
        super().__init__(construct)
        self.construct = construct
        self.position = position

    def refusal(self) -> UnsupportedOnCluster:
        """The error of a statement that cannot do without."""
        return UnsupportedOnCluster(
            f"{self.construct} is not supported on the cluster",
            sqlstate=FEATURE_NOT_SUPPORTED,
            position=self.position,
            hint='"engine": "local" runs it here',
        )
