"""The names of what a client of PostgreSQL connects to."""

from typing import Final

# Where a client of PostgreSQL finds datasets.
DATABASE: Final = "weir"
SCHEMA: Final = "public"
