"""What a model costs: as its agent file says, else as the list does, else nobody knows (agent-file.md, Prices)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from abey.protocol.config import Prices
from abey.runtime.agents.registry import Registry


def agent(folder: Path, **model: Any) -> Path:
    (folder / "agents").mkdir(exist_ok=True)
    path = folder / "agents" / "a.json"
    path.write_text(json.dumps({"slug": "a", "model": {"provider": "openai", "name": "m", **model}}))
    return path


def listed(folder: Path, text: str) -> None:
    (folder / "new").write_text(text)
    os.replace(folder / "new", folder / "prices.json")


LIST = json.dumps({"date": "2026-11-29", "models": {"openai/m": {"input": 1.0, "output": 2.0}}})


def test_the_agent_file_comes_before_the_list(tmp_path: Path) -> None:
    listed(tmp_path, LIST)
    own = agent(tmp_path, prices={"input": 9.0, "output": 9.0})
    assert Registry(tmp_path).by_file(own).prices == Prices(input=9.0, output=9.0)
    assert Registry(tmp_path).by_file(agent(tmp_path)).prices == Prices(input=1.0, output=2.0, date="2026-11-29")
    assert Registry(tmp_path).by_file(agent(tmp_path, name="other")).prices is None


def test_a_list_that_changes_counts_at_once_and_the_hash_of_the_agent_stays(tmp_path: Path) -> None:
    registry, path = Registry(tmp_path), agent(tmp_path)
    before = registry.by_file(path)
    listed(tmp_path, LIST)
    after = registry.by_file(path)
    (tmp_path / "prices.json").unlink()
    assert (before.prices, after.prices, registry.by_file(path).prices) == (
        None,
        Prices(input=1.0, output=2.0, date="2026-11-29"),
        None,
    )
    assert before.config_hash == after.config_hash


@pytest.mark.parametrize("text", ["{", "[]", '{"models": {"openai/m": {"input": "x", "output": 1}}}', "\x00"])
def test_a_list_that_is_none_is_told_of_once_and_knows_no_price(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    listed(tmp_path, text)
    registry, path = Registry(tmp_path), agent(tmp_path)
    assert [registry.by_file(path).prices for _ in range(3)] == [None] * 3
    told = [record.message.partition(":")[0] for record in caplog.records]
    assert told == [f"{tmp_path / 'prices.json'} is not used"]
