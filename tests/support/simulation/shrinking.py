"""The shortest story that a promise is broken in: what is not needed for it is left out, again and again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from support.simulation.story import RESTS, HookDoes, ModelDoes, Step, Story, ToolDoes

T = TypeVar("T")

MOST_RUNS = 400


def shortest(story: Story, breaks: Callable[[Story], bool], most_runs: int = MOST_RUNS) -> Story:
    """A story that `breaks` as well, and that none of the simpler ones does, as far as they were tried."""
    left = most_runs
    while True:
        for simpler in _simpler(story):
            if left == 0:
                return story
            left -= 1
            if breaks(simpler):
                story = simpler
                break
        else:
            return story


def _simpler(story: Story) -> Iterator[Story]:
    """The simplest first."""
    yield from (replace(story, steps=steps) for steps in _without(story.steps))
    if story.slow_disk:
        yield replace(story, slow_disk=False)
    if story.rests != RESTS[0]:
        yield replace(story, rests=RESTS[0])
    if story.typed:
        yield replace(story, typed=False)
    if story.hooks != (HookDoes(),):
        yield replace(story, hooks=(HookDoes(),))
    yield from (replace(story, hooks=hooks) for hooks in _without(story.hooks) if hooks)
    yield from (replace(story, models=models) for models in _without(story.models) if models)
    yield from (replace(story, tools=tools) for tools in _without(story.tools) if tools)
    yield from (replace(story, models=models) for models in _each(story.models, _simpler_model))
    yield from (replace(story, tools=tools) for tools in _each(story.tools, _simpler_tool))
    yield from (replace(story, hooks=hooks) for hooks in _each(story.hooks, _simpler_hook))
    yield from (replace(story, steps=steps) for steps in _each(story.steps, _simpler_step))


def _without(some: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Without a half of them, a quarter, and so on down to a single one."""
    size = len(some)
    while size:
        size = (size + 1) // 2 if size > 1 else 0
        for start in range(0, len(some) if size else 0, size or 1):
            yield some[:start] + some[start + size :]
        if size == 1:
            return


def _each(some: Sequence[T], simpler: Callable[[T], Iterator[T]]) -> Iterator[tuple[T, ...]]:
    for at, one in enumerate(some):
        yield from ((*some[:at], other, *some[at + 1 :]) for other in simpler(one))


def _simpler_model(does: ModelDoes) -> Iterator[ModelDoes]:
    if does != ModelDoes():
        yield ModelDoes()
    yield from (replace(does, calls=calls) for calls in _without(does.calls))
    if does.deaf:
        yield replace(does, deaf=False)
    if does.seconds:
        yield replace(does, seconds=0.0)


def _simpler_tool(does: ToolDoes) -> Iterator[ToolDoes]:
    if does != ToolDoes():
        yield ToolDoes()
    if does.seconds:
        yield replace(does, seconds=0.0)


def _simpler_hook(does: HookDoes) -> Iterator[HookDoes]:
    if does != HookDoes():
        yield HookDoes()
    if does.deaf:
        yield replace(does, deaf=False)
    if does.seconds:
        yield replace(does, seconds=0.0)


def _simpler_step(step: Step) -> Iterator[Step]:
    if step.wait:
        yield replace(step, wait=0.0)
    if step.keyed:
        yield replace(step, keyed=False)
    if step.who:
        yield replace(step, who=0)
