"""The model that an agent names."""

from abey.core.agent import Agent
from abey.core.conversation import ModelAnswer, ModelRequest
from abey.errors import ModelFailed
from abey.protocol.config import AgentConfig, HttpModel, ScriptedModel
from abey.runtime.models.scripted import Scripted
from abey.runtime.ports import Clock, Model, ModelFactory, OnDelta


def make_models(clock: Clock) -> ModelFactory:
    """A ModelFactory: makes the model of an agent, one try an ask (wrap it in `Retrying`)."""

    def make(agent: Agent) -> Model:
        model = AgentConfig.model_validate(agent.config).model
        match model:
            case ScriptedModel():
                return Scripted(model, clock)
            case HttpModel():
                return Unavailable(model.provider)

    return make


class Unavailable:
    """A model of a provider that this version cannot ask."""

    def __init__(self, provider: str) -> None:
        self._provider = provider

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """Raises ModelFailed, always."""
        message = f"models of provider {self._provider} are not available in this version"
        raise ModelFailed("invalid-request", message)
