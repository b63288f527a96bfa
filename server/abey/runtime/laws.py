"""What has a say in a verdict beside the agent's own policy, put together (agent-file.md, Policy)."""

from pathlib import Path

from abey.core.children import policies_above
from abey.core.policy import Floor, Laws
from abey.core.session import Session
from abey.protocol.policy import Policy
from abey.runtime.agents.floors import Floors
from abey.runtime.agents.workspaces import Lent
from abey.runtime.remembering import Remembering
from abey.runtime.tools.shell import read_command


class Lawgiving:
    """A Lawgiver. Where nobody knows the remembered rules nobody knows what they denied, and no call runs by itself."""

    def __init__(self, floors: Floors, remembering: Remembering) -> None:
        self._floors = floors
        self._remembering = remembering

    def of(self, session: Session) -> Laws:
        remembered, fault = self._remembering.remembered(session)
        floors = (*self._floors.of_session(session.created.cwd), *_unknown(fault))
        return Laws(floors, remembered, policies_above(session), read=read_command)

    def at(self, cwd: str | Path, workspace: str | None, lent: Lent) -> Laws:
        """For a session that this client might start in `cwd`, with an agent of that workspace if it is of one."""
        about = workspace or str(cwd)
        rules = tuple(one for one in self._remembering.items() if one.scope == "user" or one.workspace == about)
        floors = (*self._floors.of_client(str(cwd), lent), *_unknown(self._remembering.fault))
        return Laws(floors, rules, read=read_command)


def _unknown(fault: str | None) -> tuple[Floor, ...]:
    return () if fault is None else (Floor("rule", Policy(), f"no remembered rule is known: {fault}"),)
