"""The command line: ``microlith``, or ``python -m microlith``.

Whoever interrupts it while its parts are still being imported sees no traceback either.
"""

import sys

INTERRUPTED = 130


def main() -> None:
    """Entry point of the ``microlith`` command. Exit codes as ``cli.main``."""
    try:
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
