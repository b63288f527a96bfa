"""A session begins with, or goes on from, a value of elsewhere (machine.md, Seeds).

Laws
- What the value leaves open is shown to somebody in the same write, and nothing lets it run but an answer.
- Only a session that is over takes another beginning.
"""

from abey.core.agent import ToolSource
from abey.core.call import LEFT_OPEN_REASON, Call
from abey.core.dispatch import dispatch
from abey.core.events import Reseed
from abey.core.machine import Draft
from abey.core.policy import policy_hash
from abey.core.session import open_calls
from abey.errors import InvalidState
from abey.protocol import journal as j
from abey.protocol.policy import Defer
from abey.protocol.seeds import Seed
from abey.protocol.transcript import Client


def plant(draft: Draft, seed: Seed, client: Client | None) -> Draft:
    """The session is what the seed says, and its open calls wait. `settle` writes what follows."""
    draft = draft.write(j.Seeded(seed=seed, client=client))
    for call in open_calls(draft.session):
        source = _source_of(draft, call)
        draft = draft if source is None else draft.write(_unlisted(draft, call, source))
    return draft if draft.session.batch is None else dispatch(draft)


def _source_of(draft: Draft, call: Call) -> ToolSource | None:
    """What may have the tool, and was not asked yet: nobody waits for that here."""
    agent = draft.context.agent
    sources = agent.sources if agent.unlisted and call.tool not in agent.tools else ()
    return next((source for source in sources if call.tool.startswith(source.prefix)), None)


def _unlisted(draft: Draft, call: Call, source: ToolSource) -> j.CallDecided:
    """Only others can say what came of a call of a tool that nobody knows yet."""
    context = draft.context
    return j.CallDecided(
        call_id=call.call_id,
        token=context.token(f"token:{call.call_id}"),
        disposition=Defer(reason=LEFT_OPEN_REASON),
        reason=LEFT_OPEN_REASON,
        runnable=False,
        policy_hash=policy_hash(context.agent, context.laws),
        tool_hash=source.hash,
        config_hash=context.agent.config_hash,
    )


def reseed(draft: Draft, event: Reseed) -> Draft:
    """A stopped session is no longer stopped, and its old tokens stay dead. Raises InvalidState for any other one."""
    session = draft.session
    if not session.stopped:
        message = f"session {session.id} exists, and is not stopped: a seed makes a new session, or a stopped one go on"
        raise InvalidState(message, sessionId=session.id, state=session.state, legal=["stopped"])
    draft = plant(draft, event.seed, event.client)
    if event.title is None or event.title == draft.session.title:
        return draft
    return draft.write(j.Updated(title=event.title, client=event.client))
