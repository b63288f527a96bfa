"""The placeholders of an argv: which there are, what fills them, and which of them a shell will parse."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_-]*"
_LOOKS_LIKE_ONE = re.compile(r"(?<!\$)\{(" + _IDENTIFIER + r")\}")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh"})
_COMMAND_OPTION = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_HAND_ON = {
    **dict.fromkeys(("su", "runuser", "script", "sg", "flock"), re.compile(r"-[A-Za-z]*c|--(?:session-)?command=?")),
    "env": re.compile(r"-[A-Za-z]*S|--split-string=?"),
}
"""Programs that are no shells, and their options whose value a shell parses, or they themselves like one."""
_JOIN = {"ssh": re.compile(r"-[A-Za-z0-9]*[BbcDEeFIiJLlmOopQRSWw]"), "watch": re.compile(r"-[A-Za-z]*[nq]|--interval")}
"""Those that have a shell parse what is not an option, of `ssh` behind the host; their options with a value."""


class BadArgument(Exception):
    """An argument that no program can be given; the message is for the model."""


def fill(argv: Sequence[str], parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The argv that runs: one argument for each of `argv`, but none where a placeholder has no value.

    Strings fill as they are, everything else as JSON text; null counts as no value. What was filled in is never looked
    at again. Raises BadArgument, also where a shell would be left without its command: it would take the next argument
    for that.
    """
    pattern, script = pattern_of(parameters), _script_at(argv, parameters)
    filled = []
    for at, argument in enumerate(argv):
        names = [found[1] for found in pattern.finditer(argument)]
        if all(arguments.get(name) is not None for name in names):
            filled.append(_checked(pattern.sub(lambda found: text_of(arguments[found[1]]), argument), names))
        elif at == script:
            raise BadArgument(f"the shell has no command to run: {', '.join(names)} has no value")
    if not filled:
        raise BadArgument("no program is left to run: its placeholder has no value")
    return tuple(filled)


def undeclared(argv: Sequence[str], parameters: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """What looks like a placeholder and is none, since the parameters do not name it: (index in argv, name)."""
    pattern = pattern_of(parameters)
    for at, argument in enumerate(argv):
        known = {found[1] for found in pattern.finditer(argument)}
        for found in _LOOKS_LIKE_ONE.finditer(argument):
            if found[1] not in known:
                yield at, found[1]


def shell_parameters(argv: Sequence[str], parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """The placeholders that this argv hands to a shell as a command (agent-file.md, Shell-like tools)."""
    handed = shell_argument(argv, parameters)
    return tuple(dict.fromkeys(found[1] for found in pattern_of(parameters).finditer(handed or "")))


def shell_argument(argv: Sequence[str], parameters: Mapping[str, Any]) -> str | None:
    """The argument that a shell gets as its command, as the agent file has it, None where that has no placeholder."""
    at = _script_at(argv, parameters)
    return None if at is None else argv[at]


def handed_on(argv: Sequence[str], parameters: Mapping[str, Any]) -> tuple[int, str] | None:
    """A placeholder that is parsed like a command although no shell is in the argv: (index in argv, name)."""
    pattern = pattern_of(parameters)
    for at, argument in enumerate(argv):
        name = argument.rpartition("/")[2]
        for place in (*_after(_HAND_ON.get(name), argv, at), *_joined(name, argv, at)):
            found = pattern.search(argv[place])
            if found is not None:
                return place, found[1]
    return None


def _after(option: re.Pattern[str] | None, argv: Sequence[str], at: int) -> Iterator[int]:
    """Where the values of the option are, in an argument of their own or not."""
    for place in range(at + 1, len(argv) if option is not None else 0):
        if option is not None and (option.fullmatch(argv[place - 1]) or option.match(argv[place])):
            yield place


def _joined(name: str, argv: Sequence[str], at: int) -> Iterator[int]:
    """Where the words of a command are that the program of this name joins."""
    valued = _JOIN.get(name)
    if valued is not None:
        places = range(at + 1, len(argv))
        words = [one for one in places if argv[one][:1] != "-" and not valued.fullmatch(argv[one - 1])]
        yield from words[1:] if name == "ssh" else words


def _script_at(argv: Sequence[str], parameters: Mapping[str, Any]) -> int | None:
    """Where in the argv it is: the first argument after `-c` that is no option, as the shells read them."""
    pattern = pattern_of(parameters)
    for at, argument in enumerate(argv):
        if argument.rpartition("/")[2] not in _SHELLS:
            continue
        options = (place for place in range(at + 1, len(argv)) if _COMMAND_OPTION.fullmatch(argv[place]))
        place = next(options, len(argv)) + 1
        while place < len(argv) and argv[place][:1] in ("-", "+") and not pattern.search(argv[place]):
            place += 2 if argv[place][-1] in "oO" else 1
        if place < len(argv) and pattern.search(argv[place]):
            return place
    return None


def pattern_of(parameters: Mapping[str, Any]) -> re.Pattern[str]:
    """Matches the placeholders: of the declared properties, or of any name where none are declared."""
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        return _LOOKS_LIKE_ONE
    names = "|".join(re.escape(name) for name in properties) or r"(?!)"
    return re.compile(r"(?<!\$)\{(" + names + r")\}")


def text_of(value: Any) -> str:
    """What stands in the place of a placeholder: a string as it is, everything else as JSON text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _checked(argument: str, names: Sequence[str]) -> str:
    """`argument`, if a program can be given it."""
    where = f"the argument filled from {', '.join(names)}" if names else "an argument of the agent file"
    if "\0" in argument:
        raise BadArgument(f"{where} holds a NUL character, which no program can be given")
    try:
        argument.encode("utf-8")
    except UnicodeEncodeError:
        raise BadArgument(f"{where} holds half a surrogate pair, which is no text") from None
    return argument
