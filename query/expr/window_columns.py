"""The columns that lowering gives the sorted rows of a window, by which window functions are arithmetic."""

from typing import Final

import polars as pl

ROW: Final = "w_row"
"""A row's number from 0."""
FIRST: Final = "w_first"
"""The first row of a row's partition."""
LAST: Final = "w_last"
"""The row after the last of a row's partition."""
PEER: Final = "w_peer"
"""The first row that sorts as a row does."""
PEER_END: Final = "w_peer_end"
"""The row after the last that sorts as a row does."""
NEW_PARTITION: Final = "w_starts"
"""True for the first row of a partition."""
NEW_PEERS: Final = "w_peers"
"""True for the first of rows that sort the same."""
START: Final = "w_start"
"""The first row of a row's frame."""
END: Final = "w_end"
"""The row after the last of a row's frame."""


def argument(index: int) -> pl.Expr:
    """An argument of the call, which is a column: a constant has to have as many rows as everything else."""
    return pl.col(f"w_arg{index}")
