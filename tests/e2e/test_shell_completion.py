"""What a person gets who presses Tab after `abey`, in bash, zsh and fish."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.e2e import Place, calls, deferred, says, until
from support.shells import Shell, words_for

SCRIPT = [calls(("sh", {"command": "echo 20"})), says("It is 21 degrees.")]
LOADS = {
    "bash": 'source <(abey completion bash); echo LOADED "now"\n',
    "zsh": 'autoload -U compinit; compinit -u -D; source <(abey completion zsh); echo LOADED "now"\n',
    "fish": 'abey completion fish | source; echo LOADED "now"\n',
}
TAB = "\t"

each_shell = pytest.mark.parametrize(
    "shell",
    [
        pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not there"))
        for name in ("bash", "zsh", "fish")
    ],
)


@pytest.fixture
def at_prompt(place: Place) -> Iterator[Callable[[str], Shell]]:
    """A shell that knows the words of abey, on a machine with the session `paris-1`."""
    with ExitStack() as stack:

        def begin(name: str) -> Shell:
            place.abey("session", "start", "--agent-file", str(agent(place)), "-p", "How warm?", "--id", "paris-1")
            shell = stack.enter_context(Shell(name, place.env, place.work))
            shell.type(LOADS[name])
            shell.until("LOADED now")
            return shell

        yield begin


def agent(place: Place) -> Path:
    path = place.work / "weather.json"
    config = {
        "slug": "weather",
        "description": "knows the weather",
        "systemPrompt": "Be brief.",
        "model": {"provider": "scripted", "script": SCRIPT},
        "toolCallPolicy": {"default": "runSync", "rules": [deferred("sh")]},
        "tools": [
            {
                "kind": "command",
                "name": "sh",
                "description": "Runs a shell command",
                "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
                "argv": ["sh", "-c", "{command}"],
            }
        ],
    }
    path.write_text(json.dumps(config))
    return path


def asked(place: Place, line: str, shell: str = "bash") -> list[str]:
    return words_for(line, place.env, place.work, shell)


def known(place: Place, line: str, shell: str = "bash") -> list[str]:
    """The same, sorted, where there are some: a busy daemon is not waited for."""
    return sorted(until(lambda: asked(place, line, shell)))


@each_shell
def test_a_command_is_completed(at_prompt: Callable[[str], Shell], shell: str) -> None:
    prompt = at_prompt(shell)
    prompt.type(f"abey session sho{TAB}paris-1 --json --revis{TAB}| head -c 22\n")
    assert "abey session show" in prompt.until('{"session": {"sessionI')


@each_shell
def test_an_id_is_completed(at_prompt: Callable[[str], Shell], shell: str) -> None:
    prompt = at_prompt(shell)
    prompt.type(f"abey session rename par{TAB}")
    prompt.until("paris-1", again=TAB)  # a busy daemon is not waited for
    prompt.type("renamed -q\n")
    prompt.until("paris-1  userTurn  weather  renamed")


@each_shell
def test_the_program_prints_what_the_shell_reads(place: Place, shell: str) -> None:
    script = place.abey("completion", shell)
    assert place.json("completion", shell) == {"script": script.removesuffix("\n")}
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_words_are_those_of_the_table(place: Place) -> None:
    groups = ["demo", "run", "session", "repair", "agents", "trust", "rules", "rpc", "daemon"]
    assert asked(place, "abey ") == [*groups, "doctor", "gc", "schema", "completion"]
    assert asked(place, "abey daemon s") == ["status", "start", "stop"]
    assert asked(place, "abey session tail @ --f") == ["--follow"]
    assert asked(place, "abey run --thinking ") == ["none", "stdout", "stderr"]
    assert asked(place, "abey -q session fo") == ["fork"]


def test_names_are_those_that_the_daemon_knows(place: Place) -> None:
    start = ("session", "start", "--agent-file", str(agent(place)), "--title", "How\nwarm: it is")
    for session in ("paris-1", "paris-2"):
        place.abey(*start, "--id", session, "-p", "How warm?")
    place.abey("run", "--session", "paris-2", code=3)
    [call] = place.rpc("agents/pending")["items"]
    place.abey("session", "send", "paris-1", "later", "--queue")
    [queued] = place.session("paris-1")["queued"]
    shutil.copy(agent(place), place.agents)

    assert known(place, "abey session show ") == ["@", "paris-1", "paris-2"]
    assert known(place, "abey session approve ") == [call["token"]]
    assert known(place, f"abey session diff {call['token'][:3]}") == [call["token"]]
    assert known(place, "abey session withdraw paris-1 ") == [queued["inputId"]]
    assert known(place, "abey run --agent ") == ["weather"]
    assert asked(place, "abey agents explain --agent-file wea") == ["weather.json"]
    assert known(place, "abey session show p", shell="zsh") == [
        f"{session}:How\\nwarm: it is" for session in ("paris-1", "paris-2")
    ]


def test_a_new_name_and_a_text_are_not_guessed(place: Place) -> None:
    place.abey("session", "start", "--agent-file", str(agent(place)), "--id", "paris-1")
    assert asked(place, "abey session start --id ") == []
    assert asked(place, "abey session send paris-1 ") == []


def test_no_daemon_is_started_for_it(machine: Place) -> None:
    assert asked(machine, "abey session show ") == []
    assert asked(machine, "abey session sho") == ["show"]
    assert not machine.state.exists()
