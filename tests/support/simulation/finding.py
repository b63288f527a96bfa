"""What is told of a story in which a promise breaks."""

from support.simulation.running import run
from support.simulation.shrinking import shortest
from support.simulation.story import shown, story_of

MOST_STEPS = 8
"""Of the shortest story of a simple mistake."""


def told(seed: int) -> str:
    """The shortest story that breaks a promise as that of this seed does, what happens in it, and how to see it
    again."""
    story = shortest(story_of(seed), lambda story: run(story).broken is not None)
    found = run(story)
    happened = "\n".join(f"  {line[:300]}" for line in found.trace)
    again = f"pytest tests/simulation -k breaks --sim-seed {seed}"
    return f"{shown(story, found.broken)}\nhow it went:\n{happened}\nsee it again: {again}"
