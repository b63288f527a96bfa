"""The attributes of spans, under the names of the GenAI conventions."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from abey.core.agent import Agent, Tool
from abey.core.conversation import ModelAnswer
from abey.core.session import Session
from abey.errors import ModelFailed
from abey.protocol.config import AgentConfig, HttpModel, Model
from abey.runtime.models.places import place_of
from abey.runtime.ports import ToolCall

Value = str | int | float | Sequence[str]
Attributes = dict[str, Value]

_PROVIDERS = {"openai-responses": "openai"}
_PARAMETERS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
}


def model_of(agent: Agent) -> Model:
    """The model that an agent names."""
    return AgentConfig.model_validate(agent.config).model


def of_turn(session: Session, agent: Agent) -> Attributes:
    """Of the span of a turn."""
    return {**_common("invoke_agent", session.id), "gen_ai.agent.name": session.created.agent, **_asked(agent)}


def of_model_call(session: Session, agent: Agent) -> Attributes:
    """Of the span of a model call, before it is asked."""
    model = model_of(agent)
    found = {**_common("chat", session.id), **_asked(agent)}
    if not isinstance(model, HttpModel):
        return found
    return {**found, "gen_ai.request.stream": True, **_parameters(model), **_server(model)}


def of_answer(answer: ModelAnswer) -> Attributes:
    """What a model call has come to."""
    counted = {
        "gen_ai.usage.input_tokens": answer.usage.input_tokens,
        "gen_ai.usage.output_tokens": answer.usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": answer.usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": answer.usage.reasoning_tokens,
    }
    told: Mapping[str, Value | None] = {
        "gen_ai.response.finish_reasons": (answer.finish_reason,),
        "gen_ai.response.model": answer.model,
        "abey.attempts": answer.attempts,
        **counted,
    }
    return {name: value for name, value in told.items() if value is not None}


def of_tool_call(tool: Tool, call: ToolCall) -> Attributes:
    """Of the span of a call of a tool."""
    return {
        **_common("execute_tool", call.session_id),
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.call.id": call.call_id,
        "gen_ai.tool.type": "function",
        "abey.tool.kind": tool.kind,
    }


def _common(operation: str, session_id: str) -> Attributes:
    return {"gen_ai.operation.name": operation, "gen_ai.conversation.id": session_id}


def _asked(agent: Agent) -> Attributes:
    model = model_of(agent)
    provider = {"gen_ai.provider.name": _PROVIDERS.get(model.provider, model.provider)}
    return {**provider, "gen_ai.request.model": model.name} if model.name else {**provider}


def _parameters(model: HttpModel) -> Attributes:
    numbers = {name: value for name, value in model.parameters.items() if isinstance(value, int | float)}
    return {f"gen_ai.request.{own}": numbers[name] for name, own in _PARAMETERS.items() if name in numbers}


def _server(model: HttpModel) -> Attributes:
    try:
        url = urlsplit(place_of(model).url)
    except ModelFailed:  # which the call will say
        return {}
    return {"server.address": url.hostname or "", "server.port": url.port or {"http": 80}.get(url.scheme, 443)}
