"""What every test stands on: nothing of this machine's own abey, and examples that can be tried again."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# two cores may be shared: a slow example is no failure, and CI always tries the same ones
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session", autouse=True)
def _nothing_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A program started by a test that says no more finds empty folders, not the state of whoever runs the tests."""
    nowhere = tmp_path_factory.mktemp("nowhere")
    with pytest.MonkeyPatch.context() as environment:
        for folder in ("state", "config", "runtime"):
            environment.setenv(f"ABEY_{folder.upper()}_DIR", str(nowhere / folder))
        for name in ("ABEY_AGENT", "ABEY_DAEMON", "ABEY_LOG", "ABEY_TRANSPORT"):
            environment.delenv(name, raising=False)
        yield
