"""Reads shell commands for the policy (agent-file.md, Shell-like tools): bash's grammar, held against the others.

Laws
- Every command that runs is among those that are found, or there is a doubt.
- A plain command is one that sh, bash, dash and zsh read alike: one list of literal words.
- The time that it takes is bounded, whatever the text.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from abey.core.agent import Tool
from abey.core.shell import Command, Script, Word
from abey.protocol.base import Json
from abey.runtime.tools.placeholders import pattern_of, shell_argument, shell_parameters, text_of
from abey.runtime.tools.shell_programs import LOADED, SHELLS, UNLIKE, Found, is_plain, never_runs
from abey.runtime.tools.shell_words import unquoted

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_BYTES = 64 * 1024
MOST_COMMANDS = 2000
MOST_SCRIPTS = 100
MOST_DEPTH = 6
MOST_NESTING = 200
MOST_WORK = 3_000_000
"""A unit is about a dozen words, for each byte that follows: the parser looks ahead at each of them."""

_WORDS = frozenset({"word", "number", "raw_string", "string", "concatenation", "command_name"})
_SIMPLE = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_PARTS = frozenset({"heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor", "pipeline", "list", "command"})
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SUBSTITUTION = re.compile(r"(?<!\\)(?:`|\$\()")


def read_command(tool: Tool, arguments: Json) -> Script:
    """What the shell-like tool would hand to its shell."""
    given = arguments if isinstance(arguments, dict) else {}
    command, argv = given.get(str(tool.command)), tool.definition.get("argv")
    text, reading = "" if command is None else text_of(command), _Reading()
    plain, holds = reading.read(text, True) and isinstance(command, str), {str(tool.command)}
    handed = shell_argument(argv, tool.parameters) if isinstance(argv, list) else None
    if handed is not None and isinstance(argv, list):
        holds.update(shell_parameters(argv, tool.parameters))
        whole = _filled(handed, tool, given)
        if whole != text:
            reading.read(whole, True)
        plain = plain and whole == text and not any(one.rpartition("/")[2] in UNLIKE for one in argv)
    return reading.script(text, plain=plain, holds=frozenset(holds))


def is_plain_command(text: str) -> bool:
    reading = _Reading()
    return reading.read(text, True) and not reading.doubts


def _filled(argument: str, tool: Tool, given: Mapping[str, Json]) -> str:
    return pattern_of(tool.parameters).sub(lambda found: text_of(given.get(found[1]) or ""), argument)


class _Reading:
    """One script and all those in it."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.doubts: list[str] = []
        self.depth = 0
        self.work = 0
        self.seen: set[tuple[str, bool]] = set()
        self.found = Found(self._emit, self._inner, self.doubts.append)

    def script(self, text: str, *, plain: bool, holds: frozenset[str]) -> Script:
        doubt = self.doubts[0] if self.doubts else None
        return Script(text, tuple(self.commands), plain and doubt is None, doubt, holds)

    def read(self, text: str, sure: bool) -> bool:
        """Finds the commands of the text; whether it is one plain command."""
        joined, root = _CONTINUED.sub(r"\1", text), None
        for one in dict.fromkeys((_as_bash(joined), text)):
            root = self._parse(one, sure)
            if root is not None:
                self._walk(root, sure)
        return joined == text and root is not None and _is_plain(root, text)

    def _inner(self, text: str, sure: bool) -> None:
        if (text, sure) in self.seen:
            return
        self.seen.add((text, sure))
        if self.depth >= MOST_DEPTH or len(self.seen) > MOST_SCRIPTS:
            self.doubts.append("it holds too many commands in commands")
            return
        self.depth += 1
        self.read(text, sure)
        self.depth -= 1

    def _emit(self, command: Command) -> None:
        if len(self.commands) < MOST_COMMANDS:
            self.commands.append(command)
        else:
            self.doubts.append("it holds too many commands")

    def _parse(self, text: str, sure: bool) -> "Node | None":
        data = text.encode("utf-8", "replace")
        if len(data) > MOST_BYTES:
            self.doubts.append(f"it is longer than {MOST_BYTES} bytes")
            return None

        def worked(*_: object) -> bool:
            self.work += len(data)
            return self.work > MOST_WORK

        try:
            tree = _parser().parse(lambda at, _: data[at : at + 8192], progress_callback=worked)
        except ValueError:
            self.doubts.append("it takes too long to read")
            return None
        root: Node = tree.root_node
        if root.has_error and sure:  # what is perhaps none at all need not be one
            self.doubts.append("it cannot be read whole")
        return root

    def _walk(self, root: "Node", sure: bool) -> None:
        waiting = [(root, 0)]
        while waiting:
            node, depth = waiting.pop()
            if node.type in _SIMPLE:
                words = tuple(_words(node))
                if words:
                    self.found.command(words, sure=sure)
            elif node.type in ("heredoc_body", "herestring_redirect"):
                self._fed(node, sure)
            elif node.type == "command_substitution" and _text(node).startswith("`"):
                self._inner(re.sub(r"\\([`$\\])", r"\1", _text(node)[1:-1]), sure)
            elif node.type == "variable_assignment":
                self._assigned(node)
            elif node.type in ("word", "heredoc_body") and _SUBSTITUTION.search(_text(node)):
                self.doubts.append("it holds a substitution that cannot be read")
            if depth == MOST_NESTING:
                self.doubts.append("it is nested too deep")
            else:
                waiting.extend((child, depth + 1) for child in reversed(node.children))

    def _assigned(self, node: "Node") -> None:
        """Some programs run what they find in a variable, and so do later commands of the script."""
        name, _, value = _text(node).partition("=")
        if LOADED.fullmatch(name):
            self.doubts.append(f"{name} makes programs run something else")
        word = unquoted(value)
        if word.literal and word.text:
            self._inner(word.text, False)

    def _fed(self, node: "Node", sure: bool) -> None:
        """A text for the standard input of a command: a script, if a shell reads it."""
        statement = node.parent
        while statement is not None and statement.type not in ("redirected_statement", "command"):
            statement = statement.parent
        readers = [tuple(_words(one)) for one in _below(statement, _SIMPLE)] if statement is not None else []
        text = _text(node)
        shells = any(word.text.rpartition("/")[2] in SHELLS for words in readers for word in words)
        if not all(map(never_runs, filter(None, readers))):
            said = unquoted(text[3:].strip()).text if node.type == "herestring_redirect" else text
            self._inner(said, sure and shells)
        if not node.children and _SUBSTITUTION.search(text):
            self.doubts.append("it holds a substitution that cannot be read")


def _as_bash(text: str) -> str:
    """The text without what the grammar takes for something else than a shell does: other blanks, which belong to
    words, and a backslash at the beginning of a line."""
    return _CONTROLS.sub("_", text).replace("\n\\", "\n \\")


def _is_plain(root: "Node", text: str) -> bool:
    """Two readers agree: bash's grammar, and the rules that every shell has for quotes."""
    if root.has_error or not all(char.isprintable() or char == "\t" for char in text):
        return False
    if len(root.children) != 1 or root.children[0].type != "command":
        return False
    command = root.children[0]
    if not all(child.type in _WORDS for child in command.children):
        return False
    words = tuple(_words(command))
    try:
        agreed = shlex.split(text) == [word.text for word in words]
    except ValueError:
        return False
    return bool(words) and agreed and is_plain(words)


def _words(node: "Node") -> Iterator[Word]:
    """The words of a simple command, those after its redirections included."""
    named = False
    for child in node.children:
        if child.type == "variable_assignment" and not named and node.type == "command":
            continue
        if child.type in _REDIRECTS:
            yield from _after_redirect(child)
            continue
        named = True
        yield unquoted(_text(child))
    outer = node.parent
    if outer is not None and outer.type == "redirected_statement":
        for child in outer.children:
            yield from _after_redirect(child)


def _after_redirect(node: "Node") -> Iterator[Word]:
    """Bash takes more words after a redirection for its command's; the grammar keeps them with the redirection."""
    if node.type in ("file_redirect", "heredoc_redirect"):
        words = [one for one in node.children if one.is_named and one.type not in _PARTS]
        for one in words[1:] if node.type == "file_redirect" else words:
            yield unquoted(_text(one))


def _below(node: "Node", types: frozenset[str]) -> Iterator["Node"]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type in types:
            yield one
        waiting.extend(one.children)


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


@cache
def _language() -> Any:
    # late: most daemons never judge a shell command
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _parser() -> Any:
    from tree_sitter import Parser

    return Parser(_language())
