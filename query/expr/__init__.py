"""What the expressions of functions and of lowering have in common: run-time errors, sort keys, text output."""
