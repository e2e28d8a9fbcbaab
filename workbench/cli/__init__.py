"""The command line: `workbench doctor` and `workbench demo`.

The subcommands are modules of this package and are imported when they are asked for, so that
`workbench --help` answers at once. Each has `add_arguments(parser)` and `run(options) -> int`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

__all__ = ["main"]


class _Command(Protocol):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


_COMMANDS = {
    "doctor": "say what is installed and what each missing part would give",
    "demo": "compile, check and time a real model, write a report, open the tour",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns 0 for success, 1 for failure, 2 for usage, 130 if interrupted."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="workbench", description="A tensor compiler made to be looked into."
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    loaded: _Command | None = None
    for name, summary in _COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary.capitalize() + ".")
        if name == chosen:
            loaded = cast(_Command, import_module(f"workbench.cli.{name}"))
            loaded.add_arguments(sub)
    options = parser.parse_args(arguments)
    if options.version:
        from workbench import __version__

        print(__version__)
        return 0
    if loaded is None:
        parser.print_help()
        return 2
    try:
        return loaded.run(options)
    except KeyboardInterrupt:
        print("\nworkbench: stopped", file=sys.stderr)
        return 130
