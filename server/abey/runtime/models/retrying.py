"""Tries a model call again where trying again may help (protocol.md, Errors)."""

from collections.abc import Callable

from abey.core.conversation import ModelAnswer, ModelRequest
from abey.errors import ModelFailed
from abey.runtime.ports import Clock, Model, OnDelta
from abey.runtime.signals import being_cancelled
from abey.shared.kinds import RETRIED_MODEL_CODES
from abey.shared.values import replace

MAX_TRIES = 3
MAX_WAIT_SECONDS = 60.0
_FIRST_WAIT_SECONDS = 0.5

OnRetry = Callable[[str, int, float], None]
"""(code of the failure, number of the try that failed, seconds until the next): what was streamed so far is void."""


def ignore_retries(code: str, attempt: int, delay: float) -> None:
    """An OnRetry for callers that show nothing."""


class Retrying:
    """A ports.Model for one ask at a time: up to MAX_TRIES tries of `model`.

    `attempts` counts the tries of the last ask, also after it was cancelled. The answer's `attempts` and the failure's
    `details["attempts"]` are the same number.
    """

    def __init__(self, model: Model, clock: Clock, on_retry: OnRetry = ignore_retries) -> None:
        self._model = model
        self._clock = clock
        self._on_retry = on_retry
        self.attempts = 0

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        """The first whole answer. Raises ModelFailed: the last failure."""
        self.attempts = 0
        while True:
            self.attempts += 1
            try:
                answer = await self._model.ask(request, on_delta)
            except ModelFailed as failure:
                await self._wait(failure)
                request = replace(request, tries=request.tries + 1)
            else:
                return answer if answer.attempts == self.attempts else replace(answer, attempts=self.attempts)

    async def _wait(self, failure: ModelFailed) -> None:
        """Sleeps until the next try. Raises ModelFailed where there is none, and where nobody waits any more: a model
        may fail of its abort."""
        if failure.model_code not in RETRIED_MODEL_CODES or self.attempts == MAX_TRIES or being_cancelled():
            details = {**failure.details, "attempts": self.attempts}
            raise ModelFailed(failure.model_code, failure.message, **details) from failure
        delay = self._delay(failure)
        self._on_retry(failure.model_code, self.attempts, delay)
        await self._clock.sleep(delay)

    def _delay(self, failure: ModelFailed) -> float:
        """What the provider asked for, capped; else twice as long each time, less a random part of up to a half."""
        asked = failure.details.get("retryAfterMs")
        if asked is not None:
            return min(max(float(asked) / 1000, 0.0), MAX_WAIT_SECONDS)
        chance = int.from_bytes(self._clock.entropy()[:4], "big") / 2**32
        return float(_FIRST_WAIT_SECONDS * 2.0 ** (self.attempts - 1) * (1 - chance / 2))
