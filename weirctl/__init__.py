"""`python -m weirctl`: what an operator does to a Weir, from a terminal or a script."""
