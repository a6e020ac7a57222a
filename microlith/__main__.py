"""``python -m microlith``: the command line."""

from .cli import main

main()
