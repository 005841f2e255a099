"""SQL text -> a checked syntax tree. Knows sqlglot; knows no data and no types."""
