"""Work in a thread of its own, whose failure whoever waits for it gets to see."""

import threading
from collections.abc import Callable


class Background:
    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work = work
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name)
        self._thread.start()

    def join(self) -> None:
        """Waits for its end. Raises what it failed with."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001  join raises it
            self._failure = error
