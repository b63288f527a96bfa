"""What an entry point of the group `abey.extensions` names: one of these, or what makes one without arguments."""

from collections.abc import Awaitable, Callable, Sequence

from abey.extensions.capabilities import Capability
from abey.extensions.model_call import ModelCall
from abey.extensions.tools import Tool

Proceed = Callable[[], Awaitable[None]]
"""The hooks inside, and the model. Raises what is to be let go through: ModelFailed, Tripped, CancelledError."""


class Extension:
    """To be subclassed. It is called what its entry point is called, and one object serves all sessions of a daemon:
    what belongs to one of them is a capability."""

    capabilities: Sequence[Capability] = ()
    tools: Sequence[Tool] = ()

    async def around(self, call: ModelCall, proceed: Proceed) -> None:
        """Around each model call of each session, but not around summaries. `proceed` is awaited once, unless a
        tripwire was tripped; an exception that leaves the hook is a tripwire of scope `step`."""
        await proceed()
