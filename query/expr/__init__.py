"""Expressions that functions and lowering share: row errors, sort keys, text output."""
