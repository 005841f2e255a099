"""Binding: the syntax tree -> the bound tree. Names become columns, every expression gets its PostgreSQL type."""
