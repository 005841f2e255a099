"""What goes wrong, as clients of PostgreSQL are told: severity, SQLSTATE, message, detail, hint, position."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import errors
from errors import WeirError

READ_ONLY: Final = "Weir is read-only over this protocol"
LOGIN_REFUSED: Final = "password authentication failed"


@dataclass(slots=True)
class PgError(Exception):
    """An error that a client gets as it is. `position` counts characters of what it sent, from 1."""

    sqlstate: str
    message: str
    hint: str | None = None
    detail: str | None = None
    position: int | None = None

    def __str__(self) -> str:
        return self.message


class Fatal(PgError):
    """The same, and the end of the connection."""


def unsupported(construct: str, hint: str | None = None) -> PgError:
    return PgError("0A000", f"{construct} is not supported", hint)


def read_only() -> PgError:
    return PgError("25006", READ_ONLY)


# By family, the nearest first.
STATES: Final[tuple[tuple[type[WeirError], str], ...]] = (
    (errors.QueryCancelled, "57014"),
    (errors.TimedOut, "57014"),
    (errors.ShuttingDown, "57P01"),
    (errors.QueryTooLarge, "53200"),
    (errors.TooLarge, "54000"),
    (errors.Forbidden, "42501"),
    (errors.DatasetNotFound, "42P01"),
    (errors.Unauthenticated, "28000"),
    (errors.StorageUnavailable, "58030"),
    (errors.Overloaded, "53300"),
    (errors.InvalidRequest, "22023"),
    (errors.NotFound, "42704"),
    (errors.WeirError, "XX000"),
)


def from_weir(error: WeirError, offset: int = 0) -> PgError:
    """The service's error as PostgreSQL's. `offset`: where in the sent text the statement begins."""
    sqlstate = str(error.details.get("sqlstate") or next(state for kind, state in STATES if isinstance(error, kind)))
    position = error.details.get("position")
    hint = error.details.get("hint")
    return PgError(
        sqlstate,
        error.message,
        None if hint is None else str(hint),
        position=position + offset if isinstance(position, int) else None,
    )


def fields(error: PgError, severity: str = "ERROR") -> Mapping[str, str]:
    """The fields of an ErrorResponse, by their letters."""
    optional = {"D": error.detail, "H": error.hint, "P": None if error.position is None else str(error.position)}
    given = {letter: value for letter, value in optional.items() if value}
    return {"S": severity, "V": severity, "C": error.sqlstate, "M": error.message} | given
