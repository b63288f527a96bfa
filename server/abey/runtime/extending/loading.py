"""The extensions of this Python: its entry points of the group `abey.extensions`, loaded once, when they are needed."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from abey.runtime.extending.installed import Broken, Found, Installed, installed
from abey.shared.escaping import cut, escape_line

log = logging.getLogger(__name__)

GROUP = "abey.extensions"

Load = Callable[[], Sequence[Found]]


def load_installed() -> tuple[Found, ...]:
    """In the order of their names. Blocking: runs the code of the packages, and raises nothing of theirs."""
    try:
        points = entry_points(group=GROUP)
    except Exception as error:
        log.exception("the installed packages cannot be read")
        why = cut(escape_line(str(error)), 500)
        return (Broken("of unknown name", "no package", f"the installed packages cannot be read: {why}"),)
    return load(points)


@cache
def any_installed() -> bool:
    """Whether there are any, or nobody can tell; none is loaded for that."""
    try:
        return bool(entry_points(group=GROUP))
    except Exception:
        log.exception("the installed packages cannot be read")
        return True


def load(points: Iterable[EntryPoint]) -> tuple[Found, ...]:
    """What these come to. Of several with one name none is used: nobody can tell which one was meant."""
    named: dict[str, list[EntryPoint]] = {}
    for point in points:
        named.setdefault(point.name, []).append(point)
    return tuple(_loaded(name, named[name]) for name in sorted(named))


def _loaded(name: str, points: Sequence[EntryPoint]) -> Found:
    packages = sorted(map(_package, points))
    if len(points) > 1:
        return Broken(name, packages[0], f"{len(points)} packages name an extension so: {', '.join(packages)}")
    return installed(name, packages[0], points[0].load)


def _package(point: EntryPoint) -> str:
    """Its name and version, as far as anything can be read of it."""
    if point.dist is None:
        return "no package"
    try:
        told = (point.dist.name, point.dist.version)
    except Exception:
        log.warning("the package of the extension %s cannot be read", point.name, exc_info=True)
        told = ("", "")
    return " ".join(told) if all(told) else "a package without a name"


@dataclass(slots=True, eq=False)
class Extensions:
    """Those of a daemon: what is installed later counts from its next start."""

    load: Load = load_installed
    known: tuple[Found, ...] | None = None
    _loading: "asyncio.Task[Sequence[Found]] | None" = None

    @property
    def usable(self) -> tuple[Installed, ...]:
        """As far as they are loaded; the outer ones first."""
        return tuple([one for one in self.known or () if isinstance(one, Installed)])

    async def all(self) -> tuple[Found, ...]:
        """Loads them, in a thread, where nobody has before."""
        if self.known is None:
            if self._loading is None:
                self._loading = asyncio.create_task(asyncio.to_thread(self.load))
            self.known = tuple(await asyncio.shield(self._loading))
        return self.known

    def named(self, name: str) -> Installed | None:
        return next((one for one in self.usable if one.name == name), None)
