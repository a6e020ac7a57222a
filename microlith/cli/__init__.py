"""The command line. One module per command; this one collects them and turns errors into messages."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from microlith import version
from microlith.errors import MicrolithError

from . import (
    bench_command,
    check_command,
    codegen_command,
    compare_command,
    convert_command,
    crop_command,
    inspect_command,
    ops_command,
    run_command,
    train_command,
    verify_command,
)
from .console import error_console

app = typer.Typer(
    name="microlith",
    help="Put a trained model on a device: convert it, run it, or print it as standalone C.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _module in (
    convert_command,
    inspect_command,
    run_command,
    bench_command,
    codegen_command,
    check_command,
    verify_command,
    compare_command,
    crop_command,
    ops_command,
):
    app.command(_module.NAME, epilog=f"Example: [bold]{_module.EXAMPLE}[/bold]")(_module.command)
app.add_typer(train_command.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"microlith {version.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the ``microlith`` command.

    Exit codes: 0 done; 1 the verdict of ``check``, ``compare`` or ``verify`` is no; 2 wrong usage, or it could not be
    done; 130 interrupted.
    """
    try:
        app()
    except (MicrolithError, FileNotFoundError) as error:
        _fail(error, getattr(error, "exit_code", 2))
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except MemoryError:
        _fail("out of memory", 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("MICROLITH_DEBUG"):
            raise
        _fail(
            f"internal error: {type(error).__name__}: {error}\n"
            "  hint: this is a fault of microlith; set MICROLITH_DEBUG=1 for the traceback and report it",
            2,
        )


def _fail(error: object, code: int) -> None:
    error_console.print("[bold red]error:[/bold red]", end=" ")
    error_console.print(str(error), markup=False, highlight=False)
    sys.exit(code)
