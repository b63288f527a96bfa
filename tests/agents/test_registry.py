"""The registry: agents by slug and file, read again when they change, the last good version kept."""

import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from abey.errors import InvalidAgent, UnknownAgent
from abey.protocol.queries import AgentListing
from abey.runtime.agents import files
from abey.runtime.agents.entries import Entries
from abey.runtime.agents.registry import Found, Registry


def agent(slug: str, **members: Any) -> str:
    return json.dumps({"slug": slug, "model": {"provider": "scripted", "script": [{"text": "hi"}]}, **members})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents").mkdir()
    return tmp_path / "agents"


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path)


def states(registry: Registry) -> list[tuple[str, str]]:
    return [(item.slug, item.state) for item in registry.list().items]


def test_an_agent_is_found_by_its_slug_and_by_its_file(folder: Path, registry: Registry) -> None:
    (folder / "one.json").write_text(agent("first"))
    assert registry.by_slug("first") == registry.by_file(folder / "one.json")
    assert registry.find("first") == Found(folder / "one.json", None)


def test_the_list_shows_every_file_whatever_it_holds(folder: Path, registry: Registry) -> None:
    (folder / "a.json").write_text(agent("first", description="does", tools=[{"kind": "external", "name": "x"}]))
    (folder / "b.json").write_text("{")
    (folder / "c.json").write_text(agent("first"))
    (folder / "d.json").mkdir()
    (folder / "e.txt").write_text(agent("text"))
    (folder / "._a.json").write_bytes(b"\0\5\26\7")
    (folder / ".#a.json").symlink_to("ada@machine.1234")
    listed = registry.list().items
    assert [(item.slug, item.state, item.description, len(item.diagnostics)) for item in listed] == [
        ("first", "ok", "does", 0),
        ("b", "invalid", "", 1),
        ("first", "shadowed", "", 0),
        ("d", "invalid", "", 1),
    ]
    assert registry.by_slug("first").config["description"] == "does"


def test_a_listing_names_its_hash_and_the_variables_it_needs(folder: Path, registry: Registry) -> None:
    model = {"provider": "anthropic", "name": "x", "apiKey": {"env": "KEY"}}
    (folder / "a.json").write_text(agent("a", model=model))
    (item,) = registry.list().items
    assert replace_diagnostics(item) == AgentListing(
        slug="a",
        path=str(folder / "a.json"),
        description="",
        state="ok",
        config_hash=registry.by_slug("a").config_hash,
        env_names=("KEY",),
    )


def test_a_listing_names_the_variable_of_the_provider_where_the_file_names_none(
    folder: Path, registry: Registry
) -> None:
    (folder / "a.json").write_text(agent("a", model={"provider": "anthropic", "name": "x"}))
    (folder / "b.json").write_text(
        agent("b", model={"provider": "openai", "name": "x", "baseUrl": "http://localhost:11434/v1"})
    )
    assert [item.env_names for item in registry.list().items] == [("ANTHROPIC_API_KEY",), ()]


def test_no_folder_means_no_agents(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "nowhere")
    with pytest.raises(UnknownAgent) as caught:
        registry.by_slug("x")
    assert (registry.list().items, caught.value.details["found"]) == ((), [])


def test_an_unknown_slug_names_those_there_are(folder: Path, registry: Registry) -> None:
    (folder / "a.json").write_text(agent("first"))
    (folder / "b.json").write_text(agent("second"))
    with pytest.raises(UnknownAgent) as caught:
        registry.by_slug("third")
    assert (caught.value.message, caught.value.data) == (
        f"no agent `third` in {folder}; there are: `first`, `second`",
        {"kind": "agent/unknown", "retryable": False, "found": ["first", "second"]},
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b""), "{path}:1:1: the file is empty"),
        (lambda path: path.write_bytes(b"\xef\xbb\xbf{\n  x"), "{path}:2:3: expected a key in double quotes"),
        (lambda path: path.write_bytes(b'{"a": "\xe9"}'), "{path}:1:1: not UTF-8: byte 7 is 0xe9"),
        (lambda path: path.write_bytes(b" " * (1024 * 1024 + 1)), "{path}:1:1: larger than 1048576 bytes"),
        (lambda path: path.mkdir(), "{path}:1:1: a directory, not a file"),
        (os.mkfifo, "{path}:1:1: not a regular file"),
        (lambda path: path.symlink_to(path), "{path}:1:1: Too many levels of symbolic links"),
        (lambda path: path.write_text(agent("A")), "{path}:1:10: a slug is 1 to 64 of 0-9 a-z _ -, the first no sign"),
    ],
    ids=["empty", "syntax", "latin-1", "large", "directory", "fifo", "loop", "slug"],
)
def test_a_file_that_is_no_agent_is_refused_in_one_line(
    folder: Path, registry: Registry, spoil: Callable[[Path], object], message: str
) -> None:
    path = folder / "a.json"
    spoil(path)
    with pytest.raises(InvalidAgent) as caught:
        registry.by_file(path)
    assert caught.value.message == message.format(path=path)
    assert [one["severity"] for one in caught.value.details["diagnostics"]] == [1]


def test_a_missing_file_is_unknown(folder: Path, registry: Registry) -> None:
    with pytest.raises(UnknownAgent, match=r"no agent file .*a\.json$"):
        registry.by_file(folder / "a.json")


def test_a_saved_file_counts_at_once_however_it_was_saved(folder: Path, registry: Registry) -> None:
    path = folder / "a.json"
    path.write_text(agent("a", systemPrompt="one"))
    seen = [registry.by_slug("a").system_prompt]
    path.write_text(agent("a", systemPrompt="three"))
    seen.append(registry.by_slug("a").system_prompt)
    (folder / "new").write_text(agent("a", systemPrompt="seven"))
    (folder / "new").rename(path)
    seen.append(registry.by_slug("a").system_prompt)
    assert seen == ["one", "three", "seven"]


async def test_what_is_prepared_was_read_aside(folder: Path) -> None:
    on_the_loop: list[bool] = []

    def read(path: Path) -> str:
        on_the_loop.append(threading.current_thread() is threading.main_thread())
        return files.read_text(path)

    registry = Registry(folder.parent, entries=Entries(read, lambda: 1 << 62))
    path = folder / "a.json"
    for prompt in ("one", "two"):
        path.write_text(agent("a", systemPrompt=prompt))
        await registry.prepare(path)
        await registry.prepare(path)
        assert registry.by_file(path).system_prompt == prompt
    path.write_text("{")
    await registry.prepare(path)
    await registry.prepare(folder / "none.json")
    assert (registry.by_file(path).stale is not None, on_the_loop) == (True, [False] * 3)


def test_an_unchanged_file_is_the_same_agent(folder: Path, registry: Registry) -> None:
    (folder / "a.json").write_text(agent("a"))
    assert registry.by_slug("a") is registry.by_slug("a")


def test_a_changed_script_counts_at_once(folder: Path, registry: Registry) -> None:
    (folder / "a.json").write_text(agent("a", model={"provider": "scripted", "script": "../script.json"}))
    script = folder.parent / "script.json"
    hashes = []
    for text in ("[]", '[{"text": "x"}]'):
        script.write_text(text)
        hashes.append(registry.by_slug("a").config_hash)
    assert hashes[0] != hashes[1]


def test_a_broken_file_keeps_its_last_good_version_until_it_is_mended(folder: Path, registry: Registry) -> None:
    path = folder / "a.json"
    path.write_text(agent("good", description="does"))
    good = registry.by_slug("good")
    path.write_text("{ broken")
    assert [item.description for item in registry.list().items] == ["does"]
    problem = f"{path}:1:3: expected a key in double quotes; `abey agents check FILE` says all that is wrong with it"
    assert (registry.by_slug("good"), states(registry)) == (replace(good, stale=problem), [("good", "stale")])
    path.write_text(agent("good", systemPrompt="mended"))
    assert (registry.by_slug("good").system_prompt, states(registry)) == ("mended", [("good", "ok")])


def test_a_slug_that_breaks_the_file_is_not_yet_its_name(folder: Path, registry: Registry) -> None:
    path = folder / "a.json"
    path.write_text(agent("good"))
    good = registry.by_slug("good")
    path.write_text(agent("No Slug"))
    stale = registry.by_slug("good")
    assert (stale, states(registry)) == (replace(good, stale=stale.stale), [("good", "stale")])
    assert stale.stale is not None


def test_a_broken_file_hides_no_other(folder: Path, registry: Registry) -> None:
    (folder / "a.json").write_text('{"slug": "one"}')
    (folder / "b.json").write_text(agent("one"))
    assert (registry.find("one"), states(registry)) == (
        Found(folder / "b.json", None),
        [("one", "invalid"), ("one", "ok")],
    )


def test_a_file_that_is_gone_is_unknown_though_it_was_good(folder: Path, registry: Registry) -> None:
    path = folder / "a.json"
    path.write_text(agent("a"))
    registry.by_slug("a")
    path.unlink()
    with pytest.raises(UnknownAgent):
        registry.by_file(path)
    assert states(registry) == []


def test_an_agent_comes_back_from_its_config_without_its_files(folder: Path, registry: Registry) -> None:
    (folder / "script.json").write_text('[{"text": "hi"}]')
    (folder / "a.json").write_text(agent("a", model={"provider": "scripted", "script": "script.json"}))
    good = registry.by_slug("a")
    for path in folder.iterdir():
        path.unlink()
    assert registry.from_config(json.loads(json.dumps(good.config))) == good


def test_an_inline_config_is_relative_to_the_cwd(tmp_path: Path, registry: Registry) -> None:
    (tmp_path / "script.json").write_text('[{"text": "hi"}]')
    made = registry.inline({"slug": "a", "model": {"provider": "scripted", "script": "script.json"}}, str(tmp_path))
    assert made.config["model"] == {"provider": "scripted", "script": [{"text": "hi"}]}


def test_a_bad_inline_config_names_the_place_in_it(registry: Registry) -> None:
    with pytest.raises(InvalidAgent) as caught:
        registry.inline({"slug": "a", "model": {"provider": "scripted", "script": [], "lop": True}}, None)
    assert caught.value.message == "the inline config at /model/lop: unknown field `lop`; did you mean `loop`"
    with pytest.raises(InvalidAgent) as caught:
        registry.inline({"slug": "a"}, None)
    assert caught.value.message == "the inline config: `model` is missing"


def replace_diagnostics(item: AgentListing) -> AgentListing:
    return item.model_copy(update={"diagnostics": ()})
