"""What a provider is sent: legal for the strictest one in every state that a session can reach."""

import json
from dataclasses import replace
from typing import Any

import pytest
from core.test_machine_properties import ACTIONS, RUNS, play
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.wire_checks import chat_fault, messages_fault, responses_fault
from support.world import World

from abey.core import events as e
from abey.core.conversation import (
    AssistantMessage,
    CallMessage,
    Message,
    ModelRequest,
    OfferedTool,
    ResultMessage,
    UserMessage,
)
from abey.core.effects import AskModel
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.config import HttpModel
from abey.protocol.transcript import MediaPart, TextPart
from abey.runtime.models.answer_forms import is_strict
from abey.runtime.models.attachments import inlined
from abey.runtime.models.dialects import body_of
from abey.runtime.models.places import place_of
from abey.runtime.models.strictness import fault_of

MODELS = {
    "openai": HttpModel(provider="openai", name="m"),
    "mistral": HttpModel(provider="openai", name="m", base_url="https://api.mistral.ai/v1"),
    "anthropic": HttpModel(provider="anthropic", name="m"),
    "responses": HttpModel(provider="openai-responses", name="m"),
}
CHECKS = {
    "openai": chat_fault,
    "mistral": lambda body: chat_fault(body, 9, "[a-zA-Z0-9]{9}"),
    "anthropic": messages_fault,
    "responses": responses_fault,
}
ORIGINS = {
    "openai": "openai api.openai.com",
    "mistral": "openai api.mistral.ai",
    "anthropic": "anthropic api.anthropic.com",
    "responses": "openai-responses api.openai.com",
}

by_form = pytest.mark.parametrize("form", MODELS)


def built(form: str, request: ModelRequest) -> Any:
    model = MODELS[form]
    return json.loads(body_of(model, place_of(model), inlined(request)))


def faults(request: ModelRequest) -> dict[str, str]:
    found = {form: CHECKS[form](built(form, request)) for form in MODELS}
    return {form: fault for form, fault in found.items() if fault is not None}


def user(*texts: str) -> UserMessage:
    return UserMessage(tuple(TextPart(text=text) for text in texts))


def says(text: str, *calls: tuple[str, str, str]) -> AssistantMessage:
    blocks = (TextBlock(text=text),) if text else ()
    return AssistantMessage(blocks, tuple(CallMessage(*call) for call in calls))


def result(call_id: str, content: Any = "done", *, is_error: bool = False) -> ResultMessage:
    return ResultMessage(call_id, "tool", content, is_error)


def request(*messages: Message, tools: tuple[OfferedTool, ...] = (), prompt: str = "") -> ModelRequest:
    return ModelRequest(prompt, messages, tools, 0)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ACTIONS, min_size=10, max_size=40), st.sampled_from([None, *RUNS]))
def test_whatever_happens_each_request_is_legal_everywhere(actions: list[Any], first: e.Run | None) -> None:
    world = World()
    world.start("hello", first)
    seen: list[str] = []
    for action in actions:
        play(world, action, seen)
        for effect in world.effects:
            if isinstance(effect, AskModel):
                assert (fault_of(effect.request), faults(effect.request)) == (None, {})


TEXTS = st.sampled_from(["", " \n", "hi", "\ud83d", "ok \udc00 then", "x" * 70])
DEEP = '{"a":' * 400 + "1" + "}" * 400
ODD = ["[" * 100_000, DEEP, '{"x": 1e999}']
ASKED = st.tuples(
    st.sampled_from(
        ["{}", "", "[]", "null", "{", '{"x": NaN}', '{"x":"\\ud83d"}', '{"a":1}', "[" * 100_000, DEEP, '{"x": 1e999}']
    ),
    st.sampled_from(["run", "web.search", "x" * 80, "ünï", ""]),
)
RESULTS = st.sampled_from(
    [
        "",
        "done",
        "\ud83d",
        None,
        {"type": "text", "content": " "},
        {"type": "json", "content": {"\udc00": [1]}},
        {"type": "media", "mimeType": "image/png", "base64Data": "aGk="},
        {"type": "media", "mimeType": "video/mp4", "base64Data": "aGk="},
        {"type": "mixed", "parts": [{"type": "text", "content": "a"}, {"type": "other"}]},
        [float("inf")],
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_odd_texts_arguments_results_and_names_are_made_legal(data: Any) -> None:
    messages: list[Message] = []
    for turn in range(data.draw(st.integers(1, 3))):
        messages.append(UserMessage(tuple(TextPart.model_construct(text=data.draw(TEXTS)) for _ in range(2))))
        asked = data.draw(st.lists(ASKED, max_size=3))
        ids = [f"call {turn}.{at}:" + "y" * data.draw(st.sampled_from([0, 90])) for at in range(len(asked))]
        calls = [(call_id, name, text) for call_id, (text, name) in zip(ids, asked, strict=True)]
        messages.append(
            AssistantMessage(
                (ThinkingBlock(text="hm"), TextBlock.model_construct(text=data.draw(TEXTS))),
                tuple(CallMessage(*call) for call in calls),
            )
        )
        messages += [result(call_id, data.draw(RESULTS), is_error=data.draw(st.booleans())) for call_id in ids]
    messages.append(user("and now"))
    tools = (OfferedTool("web.search", "\ud83d", {}), OfferedTool("x" * 80, "", {"type": "object"}))
    offered = data.draw(st.sampled_from([(), tools]))
    assert faults(request(*messages, tools=offered, prompt=data.draw(TEXTS))) == {}


def test_chat_completions_in_full() -> None:
    tool = OfferedTool("log", "The log", {"type": "object", "properties": {"n": {"type": "integer"}}})
    history = (user("one", "two"), says("I look.", ("c1", "log", '{"n": 5}')), result("c1", "abc"), user("thanks"))
    assert built("openai", request(*history, tools=(tool,), prompt="Be brief")) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "one\n\ntwo"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "log", "arguments": '{"n": 5}'}},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "abc"},
            {"role": "user", "content": "thanks"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {"name": "log", "description": "The log", "parameters": dict(tool.parameters)},
            }
        ],
    }


def test_messages_in_full() -> None:
    tool = OfferedTool("log", "The log", {"properties": {"n": {"type": "integer"}}})
    history = (user("hi"), says("I look.", ("c1", "log", '{"n": 5}')), result("c1", "no", is_error=True), user("so?"))
    assert built("anthropic", request(*history, tools=(tool,), prompt="Be brief")) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "log", "input": {"n": 5}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "no"}],
                        "is_error": True,
                    },
                    {"type": "text", "text": "so?"},
                ],
            },
        ],
        "max_tokens": 8192,
        "stream": True,
        "system": "Be brief",
        "tools": [
            {
                "name": "log",
                "description": "The log",
                "input_schema": {"properties": {"n": {"type": "integer"}}, "type": "object"},
            }
        ],
    }


def test_responses_in_full() -> None:
    tool = OfferedTool("log", "The log", {})
    history = (user("hi"), says("I look.", ("c1", "log", '{"n": 5}')), result("c1", "abc"))
    assert built("responses", request(*history, tools=(tool,), prompt="Be brief")) == {
        "model": "m",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"role": "assistant", "content": "I look."},
            {"type": "function_call", "call_id": "c1", "name": "log", "arguments": '{"n": 5}'},
            {"type": "function_call_output", "call_id": "c1", "output": "abc"},
        ],
        "stream": True,
        "store": False,
        "instructions": "Be brief",
        "include": ["reasoning.encrypted_content"],
        "tools": [
            {
                "type": "function",
                "name": "log",
                "description": "The log",
                "parameters": {"properties": {}, "type": "object"},
                "strict": False,
            }
        ],
    }


OPEN = {"type": "object", "properties": {"x": {"type": "string"}}}
CLOSED = {**OPEN, "required": ["x"], "additionalProperties": False}
LIST = {"type": "array"}
WORDS = (
    "Your final answer is one JSON value that fits this JSON schema, with nothing before or after it and no Markdown "
    "around it: "
)


def fits(form: str, schema: Any, prompt: str = "", **parameters: Any) -> Any:
    """The members of the body that an output schema changes."""
    model = MODELS[form].model_copy(update={"parameters": parameters})
    asked = replace(request(user("hi"), prompt=prompt), output_schema=schema)
    body = json.loads(body_of(model, place_of(model), asked))
    told = [one["content"] for one in body.get("messages", ()) if one["role"] == "system"]
    names = ("response_format", "text", "output_config", "system", "instructions")
    return {name: body[name] for name in names if name in body} | ({"told": told[0]} if told else {})


@pytest.mark.parametrize(("schema", "strict"), [(OPEN, False), (CLOSED, True)])
def test_a_schema_of_objects_goes_into_the_field_of_openai(schema: Any, strict: bool) -> None:
    form = {"name": "answer", "schema": schema, "strict": strict}
    chat = {"response_format": {"type": "json_schema", "json_schema": form}}
    assert (fits("openai", schema), fits("mistral", schema)) == (chat, chat)
    assert fits("responses", schema, "Be brief") == {
        "text": {"format": {"type": "json_schema", **form}},
        "instructions": "Be brief",
    }


def test_anthropic_has_a_field_for_closed_schemas_alone() -> None:
    assert fits("anthropic", CLOSED) == {"output_config": {"format": {"type": "json_schema", "schema": CLOSED}}}
    assert fits("anthropic", OPEN, "Be brief") == {"system": f"Be brief\n\n{WORDS}{json.dumps(OPEN)}"}


def test_what_no_field_takes_is_said_in_words() -> None:
    said = f"{WORDS}{json.dumps(LIST)}"
    assert [fits(form, LIST) for form in MODELS] == [
        {"told": said},
        {"told": said},
        {"system": said},
        {"instructions": said},
    ]


def test_parameters_stand_beside_the_schema_or_take_it_away() -> None:
    assert fits("openai", CLOSED, response_format=None) == {}
    assert fits("anthropic", CLOSED, output_config={"effort": "low"})["output_config"] == {
        "format": {"type": "json_schema", "schema": CLOSED},
        "effort": "low",
    }


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        ({"type": "object", "properties": {"l": {"type": "array", "items": CLOSED}}, "required": ["l"]}, False),
        ({**CLOSED, "properties": {"x": {"type": "array", "items": CLOSED}}}, True),
        ({**CLOSED, "properties": {"x": {"type": "array", "items": OPEN}}}, False),
        ({**CLOSED, "properties": {"x": {"anyOf": [{"type": "null"}, {"type": "string", "enum": ["a"]}]}}}, True),
        ({**CLOSED, "properties": {"x": {"type": "string", "maxLength": 5}}}, False),
        ({**CLOSED, "properties": {"x": True}}, False),
        ({**CLOSED, "required": []}, False),
        ({**CLOSED, "properties": {"x": {"enum": ["a"]}}}, False),
        ({**CLOSED, "$defs": {}}, False),
    ],
)
def test_strict_is_what_every_provider_can_hold_a_model_to(schema: Any, strict: bool) -> None:
    assert is_strict(schema) == strict


def test_parameters_are_added_and_null_takes_away() -> None:
    parameters = {"temperature": 0, "stream_options": None, "stream": False, "messages": [], "model": "other"}
    model = HttpModel(provider="openai", name="m", parameters=parameters)
    body = json.loads(body_of(model, place_of(model), request(user("hi"))))
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": False,
        "temperature": 0,
    }


def test_room_for_thinking_is_added_to_the_room_for_the_answer() -> None:
    model = HttpModel(
        provider="anthropic", name="m", parameters={"thinking": {"type": "enabled", "budget_tokens": 4000}}
    )
    body = json.loads(body_of(model, place_of(model), request(user("hi"))))
    assert body["max_tokens"] == 12192


def test_older_models_are_not_asked_for_encrypted_thoughts() -> None:
    model = HttpModel(provider="openai-responses", name="gpt-4o")
    assert "include" not in json.loads(body_of(model, place_of(model), request(user("hi"))))


IMAGE = MediaPart(mime_type="image/png", base64_data="aGk=")
DOCUMENT = MediaPart(mime_type="application/pdf", base64_data="aGk=")


@pytest.mark.parametrize(
    ("form", "content"),
    [
        (
            "openai",
            [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                {
                    "type": "file",
                    "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,aGk="},
                },
            ],
        ),
        (
            "anthropic",
            [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}},
            ],
        ),
        (
            "responses",
            [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
                {
                    "type": "input_file",
                    "filename": "document.pdf",
                    "file_data": "data:application/pdf;base64,aGk=",
                },
            ],
        ),
    ],
)
def test_images_and_documents_are_sent(form: str, content: Any) -> None:
    message = UserMessage((TextPart(text="look"), IMAGE, DOCUMENT))
    body = built(form, request(message))
    assert body.get("messages", body.get("input"))[0]["content"] == content


def thought(form: str, **opaque: Any) -> ThinkingBlock:
    return ThinkingBlock(text="Hm.", signature="c2ln", opaque={"origin": ORIGINS[form], **opaque})


ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"}


@pytest.mark.parametrize(
    ("form", "block", "sent"),
    [
        ("openai", thought("openai", field="reasoning_content"), "reasoning_content"),
        ("openai", thought("openai", reasoning_details=[{"type": "reasoning.text", "text": "Hm."}]), "reasoning_det"),
        ("anthropic", thought("anthropic"), '"thinking": "Hm.", "signature": "c2ln"'),
        ("anthropic", thought("anthropic", redacted="b3A="), '{"type": "redacted_thinking", "data": "b3A="}'),
        ("responses", thought("responses", item=ITEM, calls=0), json.dumps(ITEM)),
    ],
)
def test_thoughts_go_back_to_who_had_them_and_to_nobody_else(form: str, block: ThinkingBlock, sent: str) -> None:
    call = (CallMessage("c1", "log", "{}"),)
    history = (user("hi"), AssistantMessage((block,), call), result("c1"))
    shown = {one: sent in json.dumps(built(one, request(*history))) for one in MODELS}
    assert shown == {one: one == form for one in MODELS}


def test_a_thought_goes_back_before_the_call_that_it_led_to() -> None:
    later = replace_item("rs_2")
    blocks = (thought("responses", item=ITEM, calls=0), thought("responses", item=later, calls=1))
    answer = AssistantMessage(blocks, (CallMessage("c1", "log", "{}"), CallMessage("c2", "log", "{}")))
    body = built("responses", request(user("hi"), answer, result("c1"), result("c2")))
    assert [item.get("id") or item.get("call_id") for item in body["input"][1:5]] == ["rs_1", "c1", "rs_2", "c2"]


def replace_item(name: str) -> dict[str, Any]:
    return {**ITEM, "id": name}


def test_answers_without_a_word_are_left_out() -> None:
    silent = AssistantMessage((ThinkingBlock(text="Hm."), TextBlock(text=" \n")), ())
    history = request(user("one"), silent, user("two"))
    assert built("openai", history)["messages"] == [{"role": "user", "content": "one\n\ntwo"}]
    assert faults(history) == {}


def test_the_builders_are_watched_by_checks_that_see_faults() -> None:
    good = built("openai", request(user("hi"), says("", ("c1", "log", "{}")), result("c1")))
    torn = {**good, "messages": good["messages"][:2]}
    assert [chat_fault(good), chat_fault(torn)] == [None, "no result for ['c1']"]
    unfinished = faults(request(user("hi"), says("x")))
    assert unfinished == dict.fromkeys(MODELS, "the last message is the model's")
