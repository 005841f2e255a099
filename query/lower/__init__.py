"""Lowering: the bound tree -> statements for SQLContext over registered frames. The only part that builds Polars."""
