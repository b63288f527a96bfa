"""`--session-file`: what was said in another session, as a text for this one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from abey_cli import lookup
from abey_cli.connection import Connection
from abey_cli.context import Context
from abey_cli.failures import Failure, refused_input
from abey_cli.reading import read_bytes, text_of


def session_text(context: Context, given: str) -> str:
    """The document, in Markdown, of the session that `given` names: a file of one, or else a session of the daemon.

    Raises Failure `input` for a file that cannot be read or holds none, `session/unknown`.
    """
    if os.sep in given or os.path.exists(context.absolute(given)):
        return _of_file(context, given)
    session_id = lookup.session_id(context, given)
    with _folder() as folder:
        path = os.path.join(folder, "said")
        context.request("agents/export", sessionId=session_id, format="markdown", path=path)
        return _read(context, path, given)


def _of_file(context: Context, given: str) -> str:
    """Markdown, which is an export for people, is taken as it is; of any other file a session is made where nobody
    sees it, by a daemon that is gone afterwards."""
    data = read_bytes(context, given)
    if not data.lstrip().startswith(b"{"):
        return text_of(data, given)
    with _folder() as folder, _daemon_of_its_own(context, folder) as daemon:
        path = os.path.join(folder, "said")
        try:
            session = daemon.request("agents/import", {"path": context.absolute(given)})
            named = {"sessionId": session["sessionId"], "format": "markdown", "path": path}
            daemon.request("agents/export", named)
        except Failure as failure:
            if failure.kind == "daemon/unreachable":
                raise
            raise refused_input(f"{given} is no session that can be read: {failure.message}") from failure
        return _read(context, path, given)


@contextmanager
def _daemon_of_its_own(context: Context, folder: str) -> Iterator[Connection]:
    from abey_cli.private import open_private  # not on the way of who names no file

    own = {f"ABEY_{name.upper()}_DIR": os.path.join(folder, name) for name in ("state", "config", "runtime")}
    env = {**context.env, **own}
    daemon = Connection(open_private(env))
    try:
        daemon.initialize(env)
        yield daemon
    finally:
        daemon.close()


@contextmanager
def _folder() -> Iterator[str]:
    """Only this user can look into it, and it is gone afterwards."""
    try:
        with tempfile.TemporaryDirectory(prefix="abey-") as folder:
            yield os.path.realpath(folder)
    except OSError as error:
        raise refused_input(f"no temporary folder can be used: {error.strerror}") from error


def _read(context: Context, path: str, named: str) -> str:
    return text_of(read_bytes(context, path), named)
