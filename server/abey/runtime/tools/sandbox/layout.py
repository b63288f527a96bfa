"""What a program in a sandbox sees of the file system, whatever builds the sandbox.

Laws
- Nothing of a home folder is there but the workspace, the tools that PATH finds there, and the program itself.
- Nothing of ours is there: no session, no agent file of the user, no key, no socket of the daemon.
- Where the workspace may be written, `.git`, `.abey`, what is ours and the agent files that are in use in it may not,
  whether or not they are there yet.
"""

import os
import pwd
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from abey.protocol.policy import RunIsolated
from abey.runtime.tools.processes import Program
from abey.runtime.tools.sandbox.keeping import Kept, NotConfined, is_below, is_in, keeping, outermost

PASSING = ("/tmp", "/var/tmp", "/run")
"""What processes leave for each other, sockets too: a sandbox has its own."""
SECRETS = tuple(
    f"/etc/{name}" for name in ("shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "ssh", "ssl/private")
)
"""Of the system, where the user is root."""
NAME_SERVICE = "/etc/resolv.conf"

_PRIVATE = frozenset({".ssh", ".gnupg", ".aws", ".config", ".kube", ".docker", ".azure", ".password-store", ".netrc"})
_OF_SEVERAL = frozenset({"", ".", ".local", ".cargo", "Library"})
"""Folders of a home whose `bin` is shown without the rest of them."""
_OF_TOOLS = (".rustup", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is to be kept from programs: `homes` of users, and `ours`: where the daemon has what it keeps. `agent_files`
    are those that decide what may run, to be asked for when a program starts."""

    homes: tuple[str, ...]
    ours: tuple[str, ...]
    agent_files: Callable[[], Iterable[Path]] = tuple


@dataclass(frozen=True, slots=True)
class Layout:
    """All paths are real ones. `hidden` folders are empty and may be written, and nothing of it stays; `shown` is
    there to be read though it is below one of them; `gone` is in no way there; `kept` is never written, whether or not
    it is there yet, and the folders in `held`, which lead there, are not moved.
    """

    workspace: str
    writable: bool
    network: bool
    homes: tuple[str, ...]
    hidden: tuple[str, ...]
    shown: tuple[str, ...]
    gone: tuple[str, ...]
    kept: tuple[str, ...]
    held: tuple[str, ...]


def surroundings(
    ours: Iterable[Path], env: Mapping[str, str], agent_files: Callable[[], Iterable[Path]] = tuple
) -> Surroundings:
    """Of this user; `env` is the daemon's."""
    named = ["/home", "/root", env.get("HOME", "")]
    with suppress(KeyError):  # a user without an entry has no other home
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    homes = {os.path.realpath(home) for home in named if os.path.isabs(home)}
    apart = outermost(home for home in homes if home != "/")
    return Surroundings(apart, tuple(os.path.realpath(one) for one in ours), agent_files)


def layout(around: Surroundings, program: Program, isolation: RunIsolated) -> Layout:
    """For one program. Looks at names, and opens nothing. Raises NotConfined."""
    workspace, writable, network = os.path.realpath(program.cwd), bool(isolation.writable), bool(isolation.network)
    homes = (*around.homes, *_own_home(program))
    apart = (*homes, *map(os.path.realpath, PASSING))
    hidden = tuple(one for one in outermost(apart) if os.path.isdir(one))
    _refuse_wide(workspace, apart)
    kept = keeping(workspace, (*around.ours, *map(str, around.agent_files()))) if writable else Kept((), ())
    return Layout(
        workspace=workspace,
        writable=writable,
        network=network,
        homes=tuple(one for one in homes if is_below(one, hidden)),
        hidden=hidden,
        shown=tuple(one for one in _shown(program, homes, network=network) if is_below(one, hidden)),
        gone=tuple(one for one in (*around.ours, *SECRETS) if os.path.exists(one)),
        kept=kept.paths,
        held=kept.held,
    )


def programs_file(program: Program) -> str | None:
    """The file of a program that is named by its path, wherever that is."""
    return os.path.realpath(program.argv[0]) if os.path.isabs(program.argv[0]) else None


def _own_home(program: Program) -> tuple[str, ...]:
    home = program.env.get("HOME", "")
    real = os.path.realpath(home) if os.path.isabs(home) else "/"
    return () if real == "/" else (real,)


def _refuse_wide(workspace: str, hidden: tuple[str, ...]) -> None:
    """A folder that holds a home holds all its secrets."""
    wide = next((one for one in hidden if is_in(one, workspace)), None)
    if wide is not None:
        raise NotConfined(
            f"{wide} is in the session's folder, and a sandbox would show it; give it a folder of its own"
        )


def _shown(program: Program, homes: tuple[str, ...], *, network: bool) -> tuple[str, ...]:
    """Where the program's PATH and its virtual environment lead, and what these are made of."""
    found: list[str] = []
    environment = program.env.get("VIRTUAL_ENV")
    folders = [os.path.join(environment, "bin")] if environment else []
    for folder in (*folders, *program.env.get("PATH", "").split(os.pathsep)):
        if os.path.isabs(folder) and os.path.isdir(folder):
            found += _toolchain(os.path.realpath(folder), homes)
            python = os.path.realpath(os.path.join(folder, "python"))
            found += _toolchain(os.path.dirname(python), homes) if os.path.isfile(python) else ()
    known = (os.path.join(home, name) for home in homes for name in _OF_TOOLS)
    found += [one for one in known if os.path.isdir(one)]
    return tuple(dict.fromkeys([*found, *([os.path.realpath(NAME_SERVICE)] if network else [])]))


def _toolchain(folder: str, homes: tuple[str, ...]) -> list[str]:
    """A folder of programs in a home, and what it belongs to: of `~/.pyenv/shims` all of `~/.pyenv`."""
    home = next((one for one in homes if is_in(folder, one)), None)
    if home is None:
        return []
    inside = os.path.relpath(folder, home)
    if inside == "." or _PRIVATE.intersection(inside.split(os.sep)):
        return []
    around = os.path.dirname(inside)
    of_its_own = os.path.basename(inside) in ("bin", "sbin", "shims") and around not in _OF_SEVERAL
    return [os.path.join(home, around) if of_its_own else folder]
