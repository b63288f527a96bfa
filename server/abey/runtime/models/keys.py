"""API keys: where they are looked up, in which order, and what is said where there is none (security.md, Secrets)."""

import importlib
import json
import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from abey.errors import ModelFailed
from abey.protocol.config import HttpModel
from abey.runtime.models.places import variable_of
from abey.runtime.models.regular import NotRegular, open_regular
from abey.shared.escaping import escape_line
from abey.shared.values import dataclass

log = logging.getLogger(__name__)

Environment = Mapping[str, str]
Keyring = Callable[[str, str], str | None]
"""(service, user name) -> the password. Raises NoKeyring."""

SERVICE = "abey"
MOST_BYTES = 1024 * 1024
MOST_SESSIONS = 4096
"""Sessions whose clients' environments are remembered; of more, those that were driven last."""


class NoKeyring(Exception):
    """Why the system's keyring cannot be asked."""


@dataclass(frozen=True, slots=True)
class _Clients:
    """The environments of who asked last, and of who started the session."""

    asking: Environment = field(repr=False)
    starting: Environment = field(repr=False)


def system_keyring(service: str, name: str) -> str | None:
    """A Keyring: the system's, through the optional package `keyring`."""
    try:
        keyring: Any = importlib.import_module("keyring")  # late: optional, and slow
    except ImportError:
        raise NoKeyring("the keyring cannot be asked: install abey with its extra `keyring`") from None
    try:
        found: str | None = keyring.get_password(service, name)
    except Exception as error:  # noqa: BLE001 - a backend may raise anything
        raise NoKeyring(f"the keyring cannot be asked: {type(error).__name__}") from None
    return found


class Keys:
    """Looks keys up. The environments of clients are kept in memory only, and shown nowhere."""

    def __init__(self, config_dir: Path, daemon: Environment, keyring: Keyring = system_keyring) -> None:
        self._file = config_dir / "keys.json"
        self._daemon = daemon
        self._keyring = keyring
        self._clients: OrderedDict[str, _Clients] = OrderedDict()

    @contextmanager
    def driven(self, session_id: str, env: Environment | None) -> Iterator[None]:
        """A client with this environment asks for something that may drive the session; the first is who started it.

        If what it asks for raises, it has driven nothing, and who came before counts on.
        """
        env = env or {}
        before = self._clients.get(session_id)
        self._clients[session_id] = _Clients(env, before.starting if before else env)
        self._clients.move_to_end(session_id)
        if len(self._clients) > MOST_SESSIONS:
            self._clients.popitem(last=False)
        try:
            yield
        except BaseException:
            self._clients.pop(session_id, None)
            if before is not None:
                self._clients[session_id] = before
            raise

    def lend(self, session_id: str, child_id: str) -> None:
        """Who drives a session drives its child."""
        if (clients := self._clients.get(session_id)) is not None:
            self._clients[child_id] = clients

    def of_session(self, model: HttpModel, session_id: str) -> str | None:
        """The key for a model call of this session, None where none is needed. Reads files. Raises ModelFailed."""
        clients = self._clients.get(session_id)
        environments = (clients.asking, clients.starting) if clients else ()
        return self._find(model, (*environments, self._daemon))

    def missing(self, model: HttpModel, env: Environment | None) -> str | None:
        """Why a client with this environment could not ask this model, in a line; None if it could. Reads files."""
        try:
            self._find(model, (env or {}, self._daemon))
        except ModelFailed as error:
            return error.message
        return None

    def _find(self, model: HttpModel, environments: tuple[Environment, ...]) -> str | None:
        where = model.api_key
        name = variable_of(model)
        if name is not None:
            return self._variable(name, environments)
        if where is None:
            return None
        if where.file is not None:
            return _checked(self._read(Path(where.file).expanduser()).strip(), escape_line(where.file))
        if where.id is not None:
            return self._named(where.id)
        return self._in_keyring(where.keyring or "")

    def _variable(self, name: str, environments: tuple[Environment, ...]) -> str:
        """Raises ModelFailed with `missingEnv`."""
        for environment in environments:
            if environment.get(name, "").strip():
                return _checked(environment[name].strip(), name)
        found = self._in_file(name) or self._asked(name)
        if found:
            return found
        message = (
            f"no API key: the variable {name} is set neither for the client nor for the daemon, and neither"
            f" {escape_line(str(self._file))} nor the keyring has {name}"
        )
        raise ModelFailed("auth", message, missingEnv=name)

    def _named(self, name: str) -> str:
        found = self._in_file(name) or self._asked(name)
        if found:
            return found
        shown = escape_line(name)
        path = escape_line(str(self._file))
        raise ModelFailed("auth", f'no API key: {path} has none with the id "{shown}", and neither has the keyring')

    def _in_keyring(self, name: str) -> str:
        """A key that is in the keyring and nowhere else: `name`, or `service/name`."""
        service, _, user = name.rpartition("/")
        try:
            found = self._keyring(service or SERVICE, user)
        except NoKeyring as error:
            raise ModelFailed("auth", f"no API key: {error}") from None
        if not found:
            raise ModelFailed("auth", f"no API key: the keyring has none for {escape_line(name)}")
        return _checked(found.strip(), "the keyring")

    def _asked(self, name: str) -> str | None:
        """The keyring as the last resort, where there is one."""
        try:
            found = self._keyring(SERVICE, name)
        except NoKeyring as error:
            log.debug("%s", error)
            return None
        return _checked(found.strip(), "the keyring") if found else None

    def _in_file(self, name: str) -> str | None:
        """The key with this id in keys.json, if there is such a file. Raises ModelFailed for one that is unsafe."""
        if not os.path.exists(self._file):
            return None
        shown = escape_line(str(self._file))
        try:
            entries: Any = json.loads(self._read(self._file))["keys"]
            found = [entry["value"] for entry in entries if entry["id"] == name]
        except (ValueError, RecursionError, LookupError, TypeError):
            form = '{"keys": [{"id": "…", "value": "…"}]}'
            raise ModelFailed("auth", f"no API key: {shown} is not of the form {form}") from None
        if not found:
            return None
        if not isinstance(found[0], str) or not found[0].strip():
            raise ModelFailed("auth", f"no API key: in {shown} the one with the id {escape_line(name)} is no text")
        return _checked(found[0].strip(), shown)

    def _read(self, path: Path) -> str:
        """A file that nobody but its owner can read. Raises ModelFailed."""
        shown = escape_line(str(path))
        try:
            file, found = open_regular(path)
            with file:
                if found.st_mode & 0o077 or found.st_uid not in (os.geteuid(), 0):
                    message = f"no API key: {shown} can be read by others and is not used; run: chmod 600 {shown}"
                    raise ModelFailed("auth", message)
                return file.read(MOST_BYTES).decode("utf-8-sig")
        except NotRegular:
            raise ModelFailed("auth", f"no API key: {shown} is no regular file") from None
        except UnicodeDecodeError:
            raise ModelFailed("auth", f"no API key: {shown} is not UTF-8") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "its path is none"
            raise ModelFailed("auth", f"no API key: {shown} cannot be read: {reason}") from None


def _checked(key: str, where: str) -> str:
    """`key`, if a header can carry it. Raises ModelFailed, which does not repeat it."""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ModelFailed("auth", f"no API key: what {where} holds is none (blanks, or signs that no header carries)")
    return key
