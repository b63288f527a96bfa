"""The model that an agent names."""

from functools import partial

from abey.core.agent import Agent
from abey.errors import ModelFailed
from abey.protocol.config import HttpModel, ScriptedModel
from abey.runtime.models.keys import Keys
from abey.runtime.models.network import Network
from abey.runtime.models.scripted import Scripted
from abey.runtime.ports import Clock, Model, ModelFactory


def make_models(clock: Clock, keys: Keys, network: Network) -> ModelFactory:
    """A ModelFactory: makes the model of an agent, one try an ask (wrap it in `Retrying`)."""

    def make(agent: Agent, session_id: str) -> Model:
        match agent.model:
            case ScriptedModel() as model:
                return Scripted(model, clock)
            case HttpModel() as model:
                from abey.runtime.models.asking import Asking  # who asks no provider loads nothing of them

                return Asking(model, partial(keys.of_session, model, session_id), network, clock)
            case None:
                raise ModelFailed("invalid-request", f"the agent {agent.slug} names no model")

    return make
