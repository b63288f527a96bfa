"""Random clients, models, tools, faults and restarts against the whole daemon minus its sockets, without a second
passing: no promise breaks, and where one does, the shortest story of it is told."""

import re
from collections import Counter
from itertools import chain

import pytest
from support.figures import Figures
from support.simulation.finding import MOST_STEPS, told
from support.simulation.mutants import MUTANTS
from support.simulation.running import run
from support.simulation.shrinking import shortest
from support.simulation.story import ModelDoes, Step, Story, ToolDoes, shown, story_of

SEEDS = 120
LARGE = 5000
MUTANT_SEEDS = 200
PART = 20
FAR = (*range(60), 912, 1669, 2968)
"""The last ones seed a session that was stopped."""


@pytest.mark.parametrize("first", range(0, SEEDS, PART))
def test_no_promise_breaks(first: int, sim_seed: int | None) -> None:
    seeds = range(first, first + PART) if sim_seed is None else [sim_seed]
    for seed in seeds:
        found = run(story_of(seed))
        if found.broken:
            pytest.fail(told(seed), pytrace=False)


@pytest.mark.figures
@pytest.mark.skipif("not config.getoption('--large')", reason="takes an hour: say --large")
def test_no_promise_breaks_in_thousands(figures: Figures) -> None:
    begin = 1_000_000 + figures.seed % 1_000_000
    for seed in range(begin, begin + LARGE):
        found = run(story_of(seed))
        if found.broken:
            pytest.fail(told(seed), pytrace=False)
    figures.note("stories of the whole daemon in which a promise broke", 0, f"{LARGE} stories")


@pytest.mark.parametrize("seed", [3, 11])
def test_the_same_seed_is_the_same_story(seed: int) -> None:
    first, second = run(story_of(seed)), run(story_of(seed))
    assert (first.digest, first.trace) == (second.digest, second.trace)


def test_stories_get_far() -> None:
    """What happens in some of them: every method was answered well, and each of these was seen."""
    lines = [line[10:] for seed in FAR for line in run(story_of(seed)).trace]
    answered = Counter(line.split()[1] for line in lines if line.endswith("is answered: ok"))
    assert [method for method in OFTEN if answered[method] < 3] == []
    assert [method for method in NOW_AND_THEN if answered[method] < 1] == []
    anew = [line for line in lines if re.search(r"agents/seed of [sf]\d+ is answered: ok", line)]
    assert anew, "no session that was stopped was seeded again"
    assert [what for what in SEEN if not any(what in line for line in lines)] == []
    assert sum(line.endswith("leaves memory") for line in lines) > RESTED


RESTED = 200
OFTEN = [f"agents/{name}" for name in ("start", "send", "step", "run", "resume", "complete", "cancel", "stop", "get")]
NOW_AND_THEN = [f"agents/{name}" for name in ("rewind", "fork", "seed", "record", "withdraw", "continue")]
SEEN = (
    "a hook denies",
    "a hook asks",
    "a hook trips",
    "a hook trips all",
    "a hook raises",
    "capability/create-failed",
    "the daemon is killed",
    "the power is lost",
    "the daemon dies amid a change to the disk",
    "a change to the disk fails",
    "record/failed",
    "whatever is aborted",
    "kid",
    "asks after",
)


APPROVED_AND_TAKEN_BACK = Story(
    seed=0,
    models=(ModelDoes((("c1", "ask", "{}"),)), ModelDoes()),
    tools=(ToolDoes(),),
    steps=(
        Step(0.0, "start", one=2, two=1),
        Step(1.0, "complete", one=1, two=35),
        Step(1.0, "rewind", one=0, two=1),
        Step(1.0, "run", one=1, two=1),
    ),
)
"""A call is approved, and runs; then its session goes back to where nobody had judged it."""

SOON = {
    "forgets the fence": (story_of(116),),
    "runs what was denied": (story_of(35),),
    "sends what was withdrawn": (story_of(12),),
    "skips a question": (story_of(27),),
    "keeps an approval in a rewind": (APPROVED_AND_TAKEN_BACK,),
}
"""Stories that are tried first, for want of time; any of the others may find it as well."""


def test_what_finds_a_mistake_breaks_nothing_without_it() -> None:
    assert run(APPROVED_AND_TAKEN_BACK).broken is None


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_is_found_and_told_in_a_short_story(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant](monkeypatch)
    stories = chain(SOON.get(mutant, ()), map(story_of, range(MUTANT_SEEDS)))
    found = next((story for story in stories if run(story).broken), None)
    assert found is not None, f"not found in {MUTANT_SEEDS} stories"
    story = shortest(found, lambda story: run(story).broken is not None, most_runs=80)
    assert len(story.steps) <= MOST_STEPS, shown(story, run(story).broken)
