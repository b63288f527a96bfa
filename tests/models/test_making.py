"""The model an agent names."""

from pathlib import Path
from typing import Any

import pytest

from abey.core.conversation import ModelRequest, UserMessage
from abey.errors import ModelFailed
from abey.protocol.blocks import TextBlock
from abey.protocol.transcript import TextPart
from abey.runtime.agents.registry import Registry
from abey.runtime.clock import VirtualClock
from abey.runtime.models.making import make_models
from abey.runtime.ports import Model

REQUEST = ModelRequest("", (UserMessage((TextPart(text="hello"),)),), (), 0)


def model_of(config: dict[str, Any], folder: Path) -> Model:
    agent = Registry(folder).inline({"slug": "a", "model": config}, None)
    return make_models(VirtualClock())(agent)


async def test_a_scripted_agent_has_its_script(tmp_path: Path) -> None:
    model = model_of({"provider": "scripted", "script": [{"text": "hi"}]}, tmp_path)
    answer = await model.ask(REQUEST, lambda delta: None)
    assert answer.blocks == (TextBlock(text="hi"),)


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
async def test_other_providers_say_that_they_are_not_there_yet(provider: str, tmp_path: Path) -> None:
    model = model_of({"provider": provider, "name": "x"}, tmp_path)
    with pytest.raises(ModelFailed) as caught:
        await model.ask(REQUEST, lambda delta: None)
    assert (caught.value.model_code, caught.value.message) == (
        "invalid-request",
        f"models of provider {provider} are not available in this version",
    )
