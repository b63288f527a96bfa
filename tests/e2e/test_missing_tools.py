"""Tools whose server or folder cannot be used: who drives a session is told without asking, and so is who looks."""

from support.e2e import Place, says

GONE = {"kind": "mcp", "name": "files", "command": ["/nowhere/at-all"]}


def without(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("without the tool")]


def test_whoever_runs_or_steps_or_shows_a_session_is_told_of_the_tools_that_it_has_not(place: Place) -> None:
    file = str(
        place.agent(**{"name": "a", **place.config(script=[says("one"), says("two"), says("three")], tools=[GONE])})
    )
    ran = place.run("run", "--agent-file", file, "-p", "go")
    [told] = without(ran.err)
    assert (ran.code, ran.out) == (0, "one\n")
    assert told.startswith("without the tools mcp_files_*: ")
    assert place.run("session", "show", "@").out.splitlines().count(f"- {told}") == 1
    assert without(place.run("session", "step", "@", "-p", "again").err) == [told]
    [session] = place.json("session", "list")["items"]
    assert list(session["missingTools"]) == ["mcp_files_"]
    assert place.run("session", "step", "@", "-p", "again", "-q").err == ""


def test_who_has_all_tools_reads_nothing_of_it(place: Place) -> None:
    file = str(place.agent(**{"name": "a", **place.config(script=[says("one")])}))
    ran = place.run("run", "--agent-file", file, "-p", "go")
    assert (without(ran.err), without(place.abey("session", "show", "@"))) == ([], [])
