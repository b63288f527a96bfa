"""Placeholders: what fills them, what is left alone, what a shell will parse."""

from typing import Any

import pytest

from abey.runtime.tools.placeholders import BadArgument, fill, handed_on, shell_parameters, undeclared

DECLARED: dict[str, Any] = {"properties": {"x": {}, "y": {}, "a.b": {}}}


@pytest.mark.parametrize(
    ("argv", "arguments", "filled"),
    [
        (["p", "{x}"], {"x": "a b"}, ("p", "a b")),
        (["p", "--x={x}!"], {"x": "a"}, ("p", "--x=a!")),
        (["p", "{x}{y}"], {"x": "{y}", "y": "{x}"}, ("p", "{y}{x}")),
        (["p", "{x}"], {"x": ""}, ("p", "")),
        (["p", "{x}", "{y}"], {"x": 1.5, "y": True}, ("p", "1.5", "true")),
        (["p", "{x}", "{y}"], {"x": {"é": [1]}, "y": [None]}, ("p", '{"é": [1]}', "[null]")),
        (["p", "-x", "{x}", "{y}"], {"y": "b"}, ("p", "-x", "b")),
        (["p", "{x}"], {"x": None}, ("p",)),
        (["p", "{x}-{y}"], {"x": "a"}, ("p",)),
        (["p", "{a.b}"], {"a.b": "z"}, ("p", "z")),
        (
            ["p", "{z}", "{}", "{ x }", "${x}", "{print $1}"],
            {"z": "no"},
            ("p", "{z}", "{}", "{ x }", "${x}", "{print $1}"),
        ),
        (["{x}"], {"x": "program"}, ("program",)),
        (["p", "{x}"], {"x": "$(rm -rf /); \"'\\"}, ("p", "$(rm -rf /); \"'\\")),
    ],
)
def test_an_argv_is_filled_in_once(argv: list[str], arguments: dict[str, Any], filled: tuple[str, ...]) -> None:
    assert fill(argv, DECLARED, arguments) == filled


def test_where_no_properties_are_declared_every_name_is_a_placeholder() -> None:
    assert fill(["p", "{any}", "{x y}"], {"type": "object"}, {"any": "1"}) == ("p", "1", "{x y}")


@pytest.mark.parametrize(
    ("argv", "arguments", "message"),
    [
        (
            ["p", "{x}"],
            {"x": "a\0b"},
            "the argument filled from x holds a NUL character, which no program can be given",
        ),
        (["p", "{x}"], {"x": "\ud800"}, "the argument filled from x holds half a surrogate pair, which is no text"),
        (["p\0"], {}, "an argument of the agent file holds a NUL character, which no program can be given"),
        (["{x}"], {}, "no program is left to run: its placeholder has no value"),
        (["sh", "-c", "{x}", "{y}"], {"y": "rm z"}, "the shell has no command to run: x has no value"),
        (["sh", "-c", "cd z && {x}"], {"x": None}, "the shell has no command to run: x has no value"),
    ],
)
def test_what_no_program_can_be_given_is_refused(argv: list[str], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument) as caught:
        fill(argv, DECLARED, arguments)
    assert str(caught.value) == message


def test_what_looks_like_a_placeholder_and_is_none_is_found() -> None:
    assert list(undeclared(["p", "{x}{z}", "{y} {q} ${r}"], DECLARED)) == [(1, "z"), (2, "q")]


@pytest.mark.parametrize(
    ("argv", "handed"),
    [
        (["bash", "-lc", "{x}; {y}; {x}"], ("x", "y")),
        (["nice", "/usr/bin/zsh", "-c", "{x}"], ("x",)),
        (["bash", "-l", "-c", "echo {x}"], ("x",)),
        (["bash", "-c", "echo", "{x}"], ()),
        (["bash", "{x}"], ()),
        (["bash", "-ce", "{x}"], ("x",)),
        (["bash", "-c", "--", "{x}"], ("x",)),
        (["bash", "-c", "-l", "-o", "pipefail", "{x}", "{y}"], ("x",)),
        (["env", "bash", "-c", "{x}"], ("x",)),
        (["docker", "exec", "-i", "c", "/bin/ash", "-c", "{x}"], ("x",)),
        (["fish", "-c", "{x}"], ("x",)),
        (["bash", "-c"], ()),
        (["python", "-c", "{x}"], ()),
    ],
)
def test_a_shell_parses_the_command_it_is_handed(argv: list[str], handed: tuple[str, ...]) -> None:
    assert shell_parameters(argv, DECLARED) == handed


HANDED_ON: list[tuple[list[str], tuple[int, str] | None]] = [
    (["ssh", "host", "{command}"], (2, "command")),
    (["/usr/bin/ssh", "-tp", "22", "-o", "x=y", "host", "cd x; {command}"], (6, "command")),
    (["sudo", "su", "-c", "{command}"], (3, "command")),
    (["su", "root", "--command={command}"], (2, "command")),
    (["env", "-S", "{command}"], (2, "command")),
    (["env", "-iS{command}"], (1, "command")),
    (["flock", "f", "-c", "{command}"], (3, "command")),
    (["watch", "-n", "{seconds}", "{command}"], (3, "command")),
    (["ssh", "-p", "{port}", "{host}"], None),
    (["ssh", "{host}", "uptime"], None),
    (["su", "{user}", "-c", "id"], None),
    (["env", "A={value}", "ls"], None),
    (["git", "-c", "{setting}", "log"], None),
]


@pytest.mark.parametrize(("argv", "found"), HANDED_ON, ids=[" ".join(argv) for argv, _ in HANDED_ON])
def test_what_a_shell_parses_that_another_program_starts_is_found(
    argv: list[str], found: tuple[int, str] | None
) -> None:
    assert handed_on(argv, {}) == found
