"""How argparse reads the options of a command; a line without any does without."""

import argparse
from typing import Any, NoReturn

from abey_cli.failures import usage
from abey_cli.parsing import GLOBAL, PIECE, Command, columns


def parser_of(command: Command) -> argparse.ArgumentParser:
    """Raises Failure `usage` for what does not fit."""
    parser = _Parser(prog=f"abey {command.words}", description=command.help, allow_abbrev=False, formatter_class=_Help)
    know_pieces(parser)
    for names, settings in (*command.arguments, *GLOBAL):
        parser.add_argument(*names, **settings)
    return parser


def know_pieces(parser: argparse.ArgumentParser) -> None:
    """So that it takes arguments of `parsing.piece`."""
    parser.register("action", PIECE, _Piece)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise usage(f"{self.prog.removeprefix('abey ')}: {message}; see `{self.prog} --help`")


class _Help(argparse.HelpFormatter):
    """Is made for every argument, too, to check it: not for that is the module loaded that knows of terminals."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)


class _Piece(argparse.Action):
    """Keeps the order of the prompt options over all of them: `pieces` is a list of (kind, value)."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        namespace.pieces = [*(namespace.pieces or ()), (self.const, values)]
