"""Runs the command line."""

from weirctl.commands import main

main()
