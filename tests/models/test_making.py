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
from abey.runtime.models.keys import Keys
from abey.runtime.models.making import make_models
from abey.runtime.models.network import Network
from abey.runtime.ports import Model

REQUEST = ModelRequest("", (UserMessage((TextPart(text="hello"),)),), (), 0)


def model_of(config: dict[str, Any], folder: Path) -> Model:
    agent = Registry(folder).inline({"slug": "a", "model": config}, None)
    return make_models(VirtualClock(), Keys(folder, {}), Network({}))(agent, "s1")


async def test_a_scripted_agent_has_its_script(tmp_path: Path) -> None:
    model = model_of({"provider": "scripted", "script": [{"text": "hi"}]}, tmp_path)
    answer = await model.ask(REQUEST, lambda delta: None)
    assert answer.blocks == (TextBlock(text="hi"),)


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("openai", "OPENAI_API_KEY"), ("openai-responses", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")],
)
async def test_without_a_key_nothing_is_asked(provider: str, variable: str, tmp_path: Path) -> None:
    model = model_of({"provider": provider, "name": "x"}, tmp_path)
    with pytest.raises(ModelFailed) as caught:
        await model.ask(REQUEST, lambda delta: None)
    assert (caught.value.model_code, caught.value.details) == ("auth", {"missingEnv": variable})
