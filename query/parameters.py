"""Values of a statement's `$1`, `$2` as they are handed over; apart from the parser, which web workers do not load."""

Parameter = str | int | float | bool | None
