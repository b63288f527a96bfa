"""How a story is told again."""

import pytest


@pytest.fixture
def sim_seed(request: pytest.FixtureRequest) -> int | None:
    """The only story to be run, where one was named."""
    named = request.config.getoption("--sim-seed")
    assert named is None or isinstance(named, int)
    return named
