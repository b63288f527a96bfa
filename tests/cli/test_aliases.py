"""`--alias`: a template around what the other prompt options say."""

import json
from pathlib import Path

import pytest
from support.canned_daemon import SESSION_ID, CannedDaemon, session

from abey_cli.aliases import BUILT_IN, filled


@pytest.fixture
def ran(abey, daemon: CannedDaemon):
    """How `session start` ended."""
    daemon.on["agents/start"] = session()

    def start(*options: str, typed: str = "", terminal: bool = False):
        return abey("session", "start", "--agent", "a", *options, typed=typed, terminal=terminal)

    return start


@pytest.fixture
def sent(ran, daemon: CannedDaemon):
    """The prompt or the parts that `session start` sends."""

    def start(*options: str, typed: str = ""):
        done = ran(*options, typed=typed)
        assert done.code == 0, done.err
        params = daemon.params("agents/start")[-1]
        return params.get("prompt", params.get("parts"))

    return start


@pytest.fixture
def own(work: Path):
    """Writes aliases.json."""

    def write(text: object) -> Path:
        path = work.parent / "config" / "aliases.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path

    return write


@pytest.fixture
def loud(own) -> None:
    own({"loud": {"template": "LOUD({{content}})", "description": "for people"}, "quiet": "quiet({{content}})"})


@pytest.mark.parametrize("name", ["translate", "summarize", "code-review", "explain"])
def test_four_are_built_in(sent, work: Path, name: str) -> None:
    (work / "a.py").write_text("print()\n")
    assert sent("--alias", name, "-f", "a.py") == filled(BUILT_IN[name], "print()", ("a.py",))


def test_one_knows_the_file_and_its_language(sent, own, work: Path) -> None:
    own({"about": "{{filename}} in {{language}}: {{content}} {{other}}"})
    (work / "a.rs").write_text("fn {{filename}}\n")
    assert sent("--alias", "about", "-f", "a.rs") == "a.rs in rust: fn {{filename}} {{other}}"
    assert sent("--alias", "about", "-f", "a.rs", "-f", "a.rs") == (
        "a.rs, a.rs in rust: fn {{filename}}\nfn {{filename}} {{other}}"
    )
    assert sent("--alias", "about", "-p", "x") == " in : x {{other}}"


@pytest.mark.parametrize(
    ("options", "prompt"),
    [
        (("--alias", "loud", "-p", "a", "-p", "b"), "LOUD(a\nb)"),
        (("-p", "a", "--alias", "loud", "-p", "b"), "a\nLOUD(b)"),
        (("-p", "a", "-p", "b", "--alias", "loud"), "LOUD(a\nb)"),
        (("--alias", "loud", "-p", "a", "--alias", "quiet", "-p", "b"), "LOUD(a)\nquiet(b)"),
        (("-p", "a", "--alias", "loud", "--alias", "quiet"), "quiet(LOUD(a))"),
    ],
)
def test_one_takes_what_comes_after_it_or_else_before_it(sent, loud, options, prompt) -> None:
    assert sent(*options) == prompt


def test_one_alone_takes_stdin(sent, loud) -> None:
    assert sent("--alias", "loud", typed="from stdin\n") == "LOUD(from stdin)"
    assert sent("--alias", "loud", "-p", "x", typed="unread") == "LOUD(x)"


def test_media_stand_after_the_text(sent, loud, work: Path) -> None:
    (work / "a.png").write_bytes(b"\x89PNG")
    medium = {"kind": "media", "mimeType": "image/png", "path": str(work / "a.png")}
    assert sent("--alias", "loud", "-m", "a.png", "-p", "look") == [{"kind": "text", "text": "LOUD(look)"}, medium]


def test_a_template_without_a_place_for_the_content_comes_before_it(sent, own) -> None:
    own({"short": "Be short."})
    assert sent("--alias", "short", "-p", "Why?") == "Be short.\nWhy?"
    assert sent("--alias", "short", typed="") == "Be short."


def test_ones_own_comes_before_a_built_in_one(sent, own) -> None:
    own({"explain": "why {{content}}"})
    assert sent("--alias", "explain", "-p", "x") == "why x"


def test_an_unknown_one_names_those_there_are(ran, loud, daemon: CannedDaemon) -> None:
    done = ran("--alias", "nosuch", "-p", "x")
    known = "code-review, explain, loud, quiet, summarize, translate"
    assert (done.code, done.err) == (2, f"abey: there is no alias 'nosuch'; there are: {known}\n")
    assert daemon.params("agents/start") == []


def test_one_that_has_nothing_to_work_on_is_exit_2(ran, abey, daemon: CannedDaemon) -> None:
    said = "abey: --alias explain has nothing to work on; say -p TEXT, -f FILE, or another prompt option\n"
    assert ran("--alias", "explain", terminal=True)[::2] == (2, said)
    assert abey("session", "step", SESSION_ID, "--alias", "explain", typed="unread")[::2] == (2, said)
    assert daemon.params("agents/start") + daemon.params("agents/step") == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "it is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "it is no object of names"),
        ('{"a": 1}', "'a' has no template: a text, or an object with a text as `template`"),
        ('{"a": {}}', "'a' has no template: a text, or an object with a text as `template`"),
    ],
)
def test_a_file_that_is_none_is_exit_1(ran, own, daemon: CannedDaemon, text: str, why: str) -> None:
    path = own(text)
    done = ran("--alias", "explain", "-p", "x")
    assert (done.code, done.err) == (1, f"abey: {path} cannot be used: {why}\n")
    assert daemon.params("agents/start") == []
