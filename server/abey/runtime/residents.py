"""Which sessions are in memory: those in use, and for a while those that were (machine.md, Sessions at rest)."""

from collections.abc import Callable, Mapping
from weakref import WeakValueDictionary

from abey.runtime.live import Live
from abey.runtime.reviving import Entry


class Residents:
    """Laws
    - Whatever of a session anybody holds is found here: no second one of its id is ever loaded beside it.
    - What was not used for a whole period is held by nobody here, unless it is told to stay.
    - A use costs the same however many there are.
    """

    def __init__(self) -> None:
        self._found: WeakValueDictionary[str, Entry] = WeakValueDictionary()
        self._fresh: dict[str, Entry] = {}
        self._aged: dict[str, Entry] = {}
        self._staying: dict[str, Entry] = {}
        self.on_use: Callable[[], None] = lambda: None

    @property
    def found(self) -> Mapping[str, Entry]:
        """All that is in memory, whole or damaged, by id."""
        return self._found

    @property
    def ageing(self) -> bool:
        """Whether a period that passes may change anything."""
        return bool(self._fresh or self._aged)

    def get(self, session_id: str) -> Entry | None:
        """What is in memory of the session; that is no use of it."""
        return self._found.get(session_id)

    def use(self, session_id: str) -> Entry | None:
        """What is in memory of the session, and is so for a period at least."""
        entry = self._fresh.get(session_id) or self._found.get(session_id)
        if entry is not None:
            self.used(session_id, entry)
        return entry

    def keep(self, session_id: str, entry: Entry) -> None:
        """From now on it is what is in memory of the session."""
        self.forget(session_id)
        self._found[session_id] = entry
        self.used(session_id, entry)

    def used(self, session_id: str, entry: Entry) -> None:
        """It stays for a period at least, if it still is what is in memory of the session."""
        if session_id in self._fresh or self._found.get(session_id) is not entry:
            return
        self._aged.pop(session_id, None)
        self._staying.pop(session_id, None)
        self._fresh[session_id] = entry
        self.on_use()

    def forget(self, session_id: str) -> None:
        """Nothing of the session is in memory."""
        for entries in (self._found, self._fresh, self._aged, self._staying):
            entries.pop(session_id, None)

    def age(self) -> tuple[Live, ...]:
        """A period has passed: those that were not used for all of it, which are held no more. What is damaged is never
        among them: nobody could load it again as it was met."""
        aged, self._aged, self._fresh = self._aged, self._fresh, {}
        self._staying |= {one: entry for one, entry in aged.items() if not isinstance(entry, Live)}
        return tuple(entry for entry in aged.values() if isinstance(entry, Live))

    def stay(self, live: Live) -> None:
        """It is held until it is used again, and then for a period at least."""
        if self._found.get(live.id) is live:
            self._staying[live.id] = live
