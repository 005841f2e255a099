"""The bound plan: the tree that binding makes and lowering reads. Knows no sqlglot and no Polars."""
