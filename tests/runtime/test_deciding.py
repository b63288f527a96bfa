"""What takes long is decided beside the event loop, and the rest at once (runtime/deciding.py)."""

import threading
from typing import Any

import pytest
from support.seeds import said
from support.world import CLIENT, World

from abey.core import events as e
from abey.core.seed_reading import seed_of
from abey.core.transition import begin
from abey.protocol import journal as j
from abey.protocol.seeds import Seed
from abey.runtime import deciding

SEED = seed_of({"transcript": [said("hi")]})


@pytest.mark.parametrize(("seed", "aside"), [(SEED, True), (None, False)])
async def test_a_seed_keeps_nobody_else_waiting(monkeypatch: Any, seed: Seed | None, aside: bool) -> None:
    threads: list[int] = []

    def noted(*arguments: Any) -> Any:
        threads.append(threading.get_ident())
        return begin(*arguments)

    monkeypatch.setattr(deciding, "begin", noted)
    world = World()
    created = j.Created(
        session_id="s1", agent="a", config={}, config_hash=world.agent.config_hash, cwd="/w", title="t", client=CLIENT
    )
    made = await deciding.decided(None, e.Start(created, None, None, seed), world.context(), None)
    assert [thread != threading.get_ident() for thread in threads] == [aside]
    assert [one.record for one in made.logged] == list(made.done.records)
