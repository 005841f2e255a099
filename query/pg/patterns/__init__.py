"""Patterns: LIKE, SIMILAR TO and PostgreSQL's regular expressions, translated for the engines at hand."""
