"""The documents of one session on the disk, as its page goes on."""

import os
from pathlib import Path

import pytest
from support.session_pages import call, page, pending, said

from abey.daemon.plain.folder import Folder
from abey.daemon.plain.memos import Memo
from abey.daemon.plain.papers import Papers
from abey.errors import RecordFailed
from abey.language.sessions.composer import COMPOSER, composer_of, with_composer
from abey.language.sessions.names import Name
from abey.language.sessions.page import Page
from abey.language.sessions.rendering import shown
from abey.protocol.transcript import Question

WAITING = page(said("go"), call(), waits=(pending(),))
DONE = page(said("go"), call(state="completed"), state="completed")
SESSION, CALL, MEMO = "s1.abey.md", "s1.1.args.json", ".s1.1.shown.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "documents"


@pytest.fixture
def papers(folder: Path) -> Papers:
    return Papers(Folder(folder))


def user_part(folder: Path) -> str:
    composer = composer_of((folder / SESSION).read_text())
    assert composer is not None
    return composer.text


def test_a_session_has_its_document_and_one_for_each_call_that_waits(papers: Papers, folder: Path) -> None:
    assert papers.write(WAITING) == []
    assert sorted(os.listdir(folder)) == [MEMO, CALL, SESSION]
    assert (folder / SESSION).read_text() == with_composer(shown(WAITING), "")
    assert (papers.text(Name("s1", 1)), papers.memo(Name("s1", 1)), papers.sessions()) == (
        '{\n  "command": "ls"\n}\n',
        Memo("token-of-c1", "0" * 64, asks=False),
        frozenset({"s1"}),
    )


def test_a_name_that_no_document_can_have_leads_nowhere(papers: Papers, folder: Path) -> None:
    papers.write(WAITING)
    (folder.parent / "other.abey.md").write_text("secret")
    assert papers.text(Name("../other")) is None


def test_what_waits_no_more_has_no_document(papers: Papers, folder: Path) -> None:
    papers.write(WAITING)
    assert papers.write(DONE) == [Name("s1", 1)]
    assert os.listdir(folder) == [SESSION]


def test_what_a_user_wrote_stays_but_for_what_was_sent(papers: Papers, folder: Path) -> None:
    papers.write(WAITING)
    parts = []
    for text, sent in (("mine\n\n", ""), ("mine\n\n", "other"), ("  mine\n", "mine"), ("mine and more", "mine")):
        (folder / SESSION).write_text(f"anything\n{COMPOSER}\n{text}")
        papers.write(DONE, sent)
        parts.append(user_part(folder))
    assert parts == ["mine\n\n", "mine\n\n", "\n", "mine and more"]


def test_what_was_written_in_the_document_of_a_call_stays_while_it_waits(papers: Papers, folder: Path) -> None:
    papers.write(WAITING)
    (folder / CALL).write_text("mine")
    papers.write(WAITING)
    papers.renew(page(call(), waits=(pending(argumentsHash="1" * 64),)).waiting[0])
    assert ((folder / CALL).read_text(), papers.memo(Name("s1", 1))) == (
        "mine",
        Memo("token-of-c1", "1" * 64, asks=False),
    )


def test_a_document_of_another_call_or_of_nobody_is_written_anew(papers: Papers, folder: Path) -> None:
    for make in (lambda: (folder / MEMO).write_text("{"), lambda: (folder / CALL).unlink(), lambda: None):
        papers.write(WAITING)
        (folder / CALL).write_text("{}")
        make()
        token = {} if (folder / MEMO).read_text() == "{" or not (folder / CALL).exists() else {"token": "other"}
        papers.write(page(call(), waits=(pending(**token),)))
        assert (folder / CALL).read_text() == '{\n  "command": "ls"\n}\n'


def test_another_question_of_the_same_call_has_a_document_of_its_own(papers: Papers, folder: Path) -> None:
    def asks(prompt: str, shown: str) -> Page:
        question = Question(kind="response", prompt=prompt)
        return page(said("go"), call(), waits=(pending(kind="question", question=question, argumentsHash=shown),))

    papers.write(asks("who?", "1" * 64))
    (folder / CALL).write_text('"half an answer"')
    papers.write(asks("who?", "1" * 64))
    assert papers.text(Name("s1", 1)) == '"half an answer"'
    papers.write(asks("why?", "2" * 64))
    shown = Memo("token-of-c1", "2" * 64, asks=True)
    assert (papers.text(Name("s1", 1)), papers.memo(Name("s1", 1))) == ('""\n', shown)


def test_a_call_that_needs_an_approval_after_its_question_has_its_arguments_in_the_document(
    papers: Papers, folder: Path
) -> None:
    question = Question(kind="approval", prompt="push it?")
    papers.write(page(said("go"), call(), waits=(pending(kind="question", question=question),)))
    (folder / CALL).write_text("true")
    papers.renew(WAITING.waiting[0])
    assert (papers.text(Name("s1", 1)), papers.memo(Name("s1", 1))) == (
        '{\n  "command": "ls"\n}\n',
        Memo("token-of-c1", "0" * 64, asks=False),
    )
    (folder / CALL).write_text("mine")
    papers.write(WAITING)
    assert papers.text(Name("s1", 1)) == "mine"


def test_a_document_without_its_composer_line_is_kept_aside(papers: Papers, folder: Path) -> None:
    papers.write(WAITING)
    (folder / SESSION).write_text("words of a user\n")
    papers.write(WAITING)
    assert ((folder / "s1.kept.md").read_text(), user_part(folder)) == ("words of a user\n", "\n")
    for text in ("other words\n", "words of a user"):
        (folder / SESSION).write_text(text)
        papers.write(WAITING)
    assert (folder / "s1.kept.md").read_text() == "words of a user\n\nother words\n"


def test_of_a_session_that_is_gone_nothing_of_ours_is_left(papers: Papers, folder: Path) -> None:
    papers.write(WAITING)
    (folder / "s1.kept.md").write_text("x")
    (folder / "s1.notes.md").write_text("mine")
    (folder / CALL).unlink()
    assert papers.remove("s1") == [Name("s1"), Name("s1", 1)]
    assert os.listdir(folder) == ["s1.notes.md"]


def test_drafts_of_a_crash_are_swept(papers: Papers, folder: Path) -> None:
    papers.write(WAITING)
    for name in (f".{SESSION}.new", f".{CALL}.new", f".{MEMO}.new", ".own.new", "own.new"):
        (folder / name).write_text("half")
    papers.sweep()
    assert set(os.listdir(folder)) == {".own.new", "own.new", MEMO, CALL, SESSION}


@pytest.mark.parametrize("name", [SESSION, CALL, MEMO, "s1.kept.md"])
def test_whatever_is_left_of_a_session_is_found(papers: Papers, folder: Path, name: str) -> None:
    folder.mkdir(mode=0o700)
    for one in (name, "notes.txt", "s1.notes.md", ".x.kept.md"):
        (folder / one).write_text("x")
    assert papers.sessions() == frozenset({"s1"})


def test_what_is_in_the_way_of_a_call_is_in_no_way_of_its_session(papers: Papers, folder: Path) -> None:
    (folder / CALL / "inside").mkdir(parents=True)
    (folder / SESSION).write_text(f"old\n{COMPOSER}\nmine")
    with pytest.raises(RecordFailed, match=f"{CALL}: Is a directory; move away"):
        papers.write(WAITING, "mine")
    assert (folder / SESSION).read_text() == with_composer(shown(WAITING), "")
