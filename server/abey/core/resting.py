"""Whether a session in memory is what its journal makes of it: then it can be let go, and read again."""

from abey.core.machine import Machine, Work
from abey.core.replay import recover
from abey.shared.values import replace


def rests(machine: Machine) -> bool:
    """Whether nothing is in flight for the session, promised to anybody, or waited for, and no call of it would be
    another one after a restart. Runs are counted from zero again, which nobody notices who waits for none."""
    work = replace(machine.work, generation=0, left_ended=False)
    return work == Work() and recover(machine.session) == machine.session
