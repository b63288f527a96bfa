"""The model that an agent names."""

from functools import partial

from abey.core.agent import Agent
from abey.protocol.config import AgentConfig, HttpModel, ScriptedModel
from abey.runtime.models.asking import Asking
from abey.runtime.models.keys import Keys
from abey.runtime.models.network import Network
from abey.runtime.models.scripted import Scripted
from abey.runtime.ports import Clock, Model, ModelFactory


def make_models(clock: Clock, keys: Keys, network: Network) -> ModelFactory:
    """A ModelFactory: makes the model of an agent, one try an ask (wrap it in `Retrying`)."""

    def make(agent: Agent, session_id: str) -> Model:
        model = AgentConfig.model_validate(agent.config).model
        match model:
            case ScriptedModel():
                return Scripted(model, clock)
            case HttpModel():
                return Asking(model, partial(keys.of_session, model, session_id), network, clock)

    return make
