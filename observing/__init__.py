"""Weir's own log lines and numbers as events of a dataset. Knows how to make them rows, not where those go."""
