"""What a block of shell asks of abey: each command in it, held against the tables of what there is."""

import re
import subprocess
from collections.abc import Iterator
from itertools import takewhile

from abey.core.agent import Tool
from abey.daemon.settings import read_options
from abey.runtime.tools.shell import read_command
from abey_cli.failures import Failure
from abey_cli.parsing import GLOBAL, overview, parse, wants_version
from abey_cli.table import COMMANDS

_SHELL = Tool("sh", "", {}, {"kind": "command", "argv": ["bash", "-c", "{command}"]}, "", command="command")
_UNKNOWN = "12345678"
"""Stands for a word that only a running shell knows: it would do as a number, a name and the beginning of a token."""


def faults(script: str) -> list[str]:
    """What is wrong with a script: that bash cannot read it, or that it asks abey for something that there is not."""
    read = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    return [*read.stderr.splitlines(), *(fault for words in asked(script) for fault in _faults(words))]


def asked(script: str) -> Iterator[list[str]]:
    """The words of every command of abey in a script, those in substitutions included, without its folder."""
    for command in read_command(_SHELL, {"command": script}).commands:
        if not command.sure:
            continue
        words = [word.text if word.literal else word.text or _UNKNOWN for word in command.words]
        program = words[0].rpartition("/")[2] if words else ""
        if program in ("abey", "abey-daemon"):
            yield [program, *words[1:]]


def spoken_of(said: str) -> list[str]:
    """What is wrong with words of a sentence that name a command, or a group of them, and perhaps some options."""
    named = said.partition("&&")[0].split()[1:]
    words = list(takewhile(_is_word, named[named[:1] == ["help"] :]))
    own = [one for one in COMMANDS if one.words.split() == words[: len(one.words.split())]]
    meant = own or [one for one in COMMANDS if one.words.split()[: len(words)] == words]
    known = {"-", "--help", "--version", *(name for one in GLOBAL for name in one.names)}
    known |= {name for one in meant for argument in one.arguments for name in argument.names}
    strange = [word for word in named if word.startswith("-") and word.partition("=")[0] not in known]
    return [f"{said}: no {word}" for word in strange] + ([] if meant else [f"{said}: no such command"])


def _is_word(text: str) -> bool:
    return re.fullmatch("[a-z][a-z-]*", text) is not None


def _faults(words: list[str]) -> list[str]:
    program, *arguments = words
    try:
        if program == "abey-daemon":
            read_options(arguments)
        elif not (wants_version(arguments) or overview(arguments, COMMANDS)):
            parse(arguments, COMMANDS)
    except Failure as failure:
        return [f"{' '.join(words)}: {failure.message}"]
    except SystemExit as ended:
        return [f"{' '.join(words)}: it ends with {ended.code}"] if ended.code else []
    return []
