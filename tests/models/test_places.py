"""Where a model is asked."""

from pathlib import Path
from typing import Any

import pytest

from abey.protocol.config import HttpModel
from abey.runtime.agents.loading import load_text
from abey.runtime.models.dialects import headers_of
from abey.runtime.models.keys import Keys
from abey.runtime.models.places import Place, place_of, without_credentials

REAL = Path(__file__).parents[3] / "shared" / "data" / "agents"


@pytest.mark.parametrize(
    ("provider", "base", "url"),
    [
        ("openai", None, "https://api.openai.com/v1/chat/completions"),
        ("openai-responses", None, "https://api.openai.com/v1/responses"),
        ("anthropic", None, "https://api.anthropic.com/v1/messages"),
        ("openai", "http://localhost:11434/v1/", "http://localhost:11434/v1/chat/completions"),
        ("openai", "https://api.deepseek.com", "https://api.deepseek.com/chat/completions"),
        ("openai", "https://x.example.org/v1/chat/completions", "https://x.example.org/v1/chat/completions"),
        (
            "openai",
            "https://x.openai.azure.com/openai/deployments/d?api-version=1",
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
        ),
        ("anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://api.moonshot.ai/anthropic", "https://api.moonshot.ai/anthropic/v1/messages"),
        ("anthropic", "https://x.example.org/v1/messages", "https://x.example.org/v1/messages"),
        ("openai", "http://me:pw@[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
    ],
)
def test_the_path_is_added_to_the_base(provider: Any, base: str | None, url: str) -> None:
    assert place_of(HttpModel(provider=provider, name="m", base_url=base)).url == url


@pytest.mark.parametrize(
    ("provider", "host", "header"),
    [
        ("openai", "api.openai.com", ("authorization", "Bearer k")),
        ("openai", "x.openai.azure.com", ("api-key", "k")),
        ("anthropic", "api.anthropic.com", ("x-api-key", "k")),
    ],
)
def test_each_host_gets_the_key_in_its_own_header(provider: Any, host: str, header: tuple[str, str]) -> None:
    model = HttpModel(provider=provider, name="m")
    plain = headers_of(model, Place("", host), None)
    assert headers_of(model, Place("", host), "k") == {**plain, header[0]: header[1]}


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("http://me:pw@x/v1", "http://x/v1"),
        ("http://a@b@x:1/v1?q=1", "http://x:1/v1?q=1"),
        ("http://x/v1@y", "http://x/v1@y"),
        ("http://[", "http://["),
    ],
)
def test_credentials_are_taken_out_of_a_url(url: str, plain: str) -> None:
    assert without_credentials(url) == plain


@pytest.mark.skipif(not REAL.is_dir(), reason="the recorded agent files are not here")
def test_real_files_of_agents_exe_lead_to_a_server_and_a_key(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text('{"keys": [{"id": "kimi", "value": "k1"}, {"id": "ollama", "value": "k2"}]}')
    (tmp_path / "keys.json").chmod(0o600)
    keys = Keys(tmp_path, {}, lambda service, name: None)
    found = set()
    for path in sorted(REAL.glob("*.json")):
        config = load_text(path.read_text(encoding="utf-8"), path).config
        model = config.model if config else None
        if isinstance(model, HttpModel) and model.api_key and model.api_key.id in ("kimi", "ollama"):
            found.add((place_of(model).url, keys.of_session(model, "s")))
    assert found == {
        ("https://api.moonshot.ai/v1/chat/completions", "k1"),
        ("http://localhost:11434/v1/chat/completions", "k2"),
    }
