"""`--if-revision` and `--idempotency-key`: every command with an effect passes them on, and says what a repeat was."""

from pathlib import Path
from typing import Any

import pytest
from support.canned_daemon import SESSION_ID, TOKEN, CannedDaemon, Refusal, answered, pending, session, waiting

from abey_cli.arguments import EFFECT
from abey_cli.table import COMMANDS

KEY = "order 66"
GIVEN = ("--if-revision", "7", "--idempotency-key", KEY)
TAKEN = {"ifRevision": 7, "idempotencyKey": KEY}
SEED = str(Path(__file__).parents[1] / "data/seed.json")
EFFECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "session start": ("agents/start", ("--agent", "a", "-p", "x")),
    "session step": ("agents/step", (SESSION_ID,)),
    "session resume": ("agents/resume", (SESSION_ID,)),
    "session pause": ("agents/pause", (SESSION_ID,)),
    "session send": ("agents/send", (SESSION_ID, "x")),
    "session withdraw": ("agents/withdraw", (SESSION_ID, "i")),
    "session continue": ("agents/continue", (SESSION_ID,)),
    "session fork": ("agents/fork", (SESSION_ID,)),
    "session seed": ("agents/seed", (SEED, "--agent", "a")),
    "session rewind": ("agents/rewind", (SESSION_ID, "--to", "3")),
    "session cancel": ("agents/cancel", (SESSION_ID,)),
    "session stop": ("agents/stop", (SESSION_ID, "--yes")),
    "session rename": ("agents/update", (SESSION_ID, "t")),
    "session archive": ("agents/update", (SESSION_ID,)),
    "session unarchive": ("agents/update", (SESSION_ID,)),
    "session delete": ("agents/delete", (SESSION_ID, "--yes")),
    "session restore": ("agents/restore", (SESSION_ID,)),
    "session reopen": ("agents/reopen", (SESSION_ID,)),
    "repair": ("agents/repair", (SESSION_ID, "--apply")),
    "session import": ("agents/import", ("one.jsonl",)),
    "session complete": ("agents/complete", (TOKEN, "--text", "x")),
    "session approve": ("agents/complete", (TOKEN,)),
    "session deny": ("agents/complete", (TOKEN,)),
    "session reject": ("agents/complete", (TOKEN,)),
    "session answer": ("agents/complete", (TOKEN, "yes")),
    "session rerun": ("agents/complete", (TOKEN,)),
    "session run-isolated": ("agents/runIsolated", (SESSION_ID,)),
    "rules add": (
        "agents/rules",
        ("t", "--scope", "session", "--session", SESSION_ID, "--any-arguments"),
    ),
    "rules remove": ("agents/rules", ("0" * 26, "--session", SESSION_ID)),
}
"""Each command, its method, and what it is given. `run` makes several requests."""


@pytest.fixture
def ready(daemon: CannedDaemon) -> CannedDaemon:
    daemon.on["agents/pending"] = {"items": [pending()]}
    daemon.on["agents/start"] = session()
    daemon.on["agents/get"] = {"session": session()}
    daemon.on["agents/send"] = {"inputId": "i", "position": 0, "session": session()}
    daemon.on["agents/run"] = {"outcome": "completed", "steps": 1, "session": answered()}
    return daemon


def refuse(_: Any) -> Any:
    raise Refusal(-31004, "another request", kind="idempotency/conflict", retryable=False)


def test_every_command_with_an_effect_is_tried_here() -> None:
    assert {command.words for command in COMMANDS if EFFECT[-1] in command.arguments} == {*EFFECTS, "run"}


@pytest.mark.parametrize("words", EFFECTS)
def test_a_command_passes_both_on_and_ends_with_5_where_the_key_is_another_requests(
    abey: Any, ready: CannedDaemon, words: str
) -> None:
    method, options = EFFECTS[words]
    ready.on[method] = refuse
    ran = abey(*words.split(), *options, *GIVEN)
    assert (ran.code, ran.out, "abey: another request" in ran.err) == (5, "", True)
    [params] = ready.params(method)
    assert {name: params.get(name) for name in TAKEN} == TAKEN


def keys(ready: CannedDaemon) -> list[tuple[str, Any, Any]]:
    """The requests with an effect, and what they took."""
    effects = {"agents/start", "agents/send", "agents/run"}
    asked = [(method, params) for method, params in ready.asked if method in effects]
    return [(method, params.get("ifRevision"), params.get("idempotencyKey")) for method, params in asked]


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (("--agent", "a", "-p", "x"), [("agents/start", 7, KEY), ("agents/run", None, f"{KEY}/run")]),
        (("--session", SESSION_ID, "-p", "x"), [("agents/send", 7, KEY), ("agents/run", None, f"{KEY}/run")]),
        (("--session", SESSION_ID), [("agents/run", 7, KEY)]),
    ],
)
def test_the_second_request_of_run_has_a_key_of_its_own(
    abey: Any, ready: CannedDaemon, options: tuple[str, ...], asked: list[Any]
) -> None:
    assert abey("run", *options, *GIVEN).code == 0
    assert keys(ready) == asked


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (("session", "step", SESSION_ID, "--idempotency-key", "é"), "'é' is no key"),
        (("session", "step", SESSION_ID, "--idempotency-key", ""), "'' is no key"),
        (("run", "--agent", "a", "-p", "x", "--idempotency-key", "k" * 125), "that of `abey run` at most 124"),
        (("session", "import", "-", "--idempotency-key", "k"), "name a FILE"),
    ],
)
def test_a_key_that_cannot_serve_is_refused_and_nothing_is_asked(
    abey: Any, ready: CannedDaemon, line: tuple[str, ...], why: str
) -> None:
    ran = abey(*line)
    assert (ran.code, ran.out, why in ran.err, keys(ready)) == (2, "", True, [])


def test_a_repeat_says_that_nothing_was_done_again(abey: Any, ready: CannedDaemon) -> None:
    ready.on["agents/step"] = {"outcome": "advanced", "session": session(), "replayed": True}
    said = "this was asked before under the same key: nothing was done again\n"
    assert abey("session", "step", SESSION_ID) == (0, "State: UserTurn (ready for LLM)\n", said)
    assert abey("session", "step", SESSION_ID, "-q") == (0, "State: UserTurn (ready for LLM)\n", "")


@pytest.mark.parametrize("words", ["step", "resume"])
def test_a_request_that_was_interrupted_is_an_error(abey: Any, ready: CannedDaemon, words: str) -> None:
    result = {"outcome": "interrupted", "steps": 0, "session": waiting(), "interrupted": True}
    ready.on[f"agents/{words}"] = result
    ready.on["agents/transcript"] = {"items": [], "hasMore": False}
    ran = abey("session", words, SESSION_ID, "-q")
    said = "the daemon ended before this request did: nobody can tell how far it got\n"
    assert (ran.code, ran.err) == (1, said)
