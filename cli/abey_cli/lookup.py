"""What a person may write for a session, a token or an agent, and what it stands for."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from abey_cli.context import Context
from abey_cli.failures import Failure, unknown_session, unknown_token, usage

PAGE = 1000
"""The longest page that the daemon gives."""
TOKEN_PREFIX = 8
_ULID = r"[0-9a-hjkmnp-tv-z]{26}"
_TOKEN = r"[0-9a-f]{32}"


def session_id(context: Context, given: str) -> str:
    """The id that `given` (an id, a unique prefix, `@`) means; what matches none is returned as it is.

    Raises Failure: `usage` for a prefix of several, `session/unknown` for `@` where this folder has none.
    """
    if given == "@":
        return _latest_here(context)
    if re.fullmatch(_ULID, given):
        return given
    return _unique(_plain(given), list(_session_ids(context)), "sessions")


def token(context: Context, given: str) -> str:
    """The token that `given` (a token, a unique prefix) means; what matches none is returned as it is.

    Raises Failure: `token/unknown` for a prefix that is too short, `usage` for one of several.
    """
    prefix = _plain(given).lower()
    if re.fullmatch(_TOKEN, prefix):
        return prefix
    if len(prefix) < TOKEN_PREFIX:
        raise unknown_token(f"{given!r} is too short for a token: at least {TOKEN_PREFIX} characters of it")
    return _unique(prefix, [call["token"] for call in pending(context)], "pending calls")


def queued_input(context: Context, session_id: str, given: str) -> str:
    """The id of the queued input that `given` (an id, a unique prefix) means; what matches none is returned as it is.

    Raises Failure `usage` for a prefix of several.
    """
    session = context.request("agents/get", sessionId=session_id)["session"]
    return _unique(_plain(given), [queued["inputId"] for queued in session["queued"]], "queued inputs")


def sessions(context: Context, **params: Any) -> Iterator[dict[str, Any]]:
    for page in pages(context, "agents/sessions", **params):
        yield from page["items"]


def _session_ids(context: Context) -> Iterator[str]:
    """Of every session, also of one that is put away, or of which nothing can be read."""
    for page in pages(context, "agents/sessions", archived=True):
        yield from (session["sessionId"] for session in page["items"])
        yield from (damage["sessionId"] for damage in page.get("damaged", ()))


def pending(context: Context, **params: Any) -> Iterator[dict[str, Any]]:
    for page in pages(context, "agents/pending", **params):
        yield from page["items"]


def pages(context: Context, method: str, limit: int = PAGE, **params: Any) -> Iterator[dict[str, Any]]:
    """Every page of a paged result; `limit` is the length of one."""
    cursor = None
    while True:
        page = context.request(method, **params, cursor=cursor, limit=limit)
        yield page
        cursor = page.get("nextCursor")
        if cursor is None:
            return


def recorded_call(context: Context, session_id: str, token: str) -> Any:
    """The call of `token` in the transcript, sought from its end; None where it is not there."""
    before = None
    while True:
        page = context.request("agents/transcript", sessionId=session_id, before=before)
        for item in page["items"]:
            if item.get("call", {}).get("token") == token:
                return item["call"]
        if not page["hasMore"] or not page["items"]:
            return None
        before = page["items"][0]["itemId"]


def agent(context: Context, folder: str | None = None) -> dict[str, str]:
    """`{agent}` or `{agentFile}` for the agent that the options, $ABEY_AGENT or the folder of the session, by default
    this one, name (command-line.md)."""
    options = context.options
    if options.agent is not None and options.agent_file is not None:
        raise usage("say --agent or --agent-file, not both")
    if options.agent_file is not None:
        return {"agentFile": context.absolute(options.agent_file)}
    if options.agent is not None:
        return {"agent": options.agent}
    named = context.env.get("ABEY_AGENT")
    if named:
        return {"agentFile": context.absolute(named)} if os.sep in named else {"agent": named}
    return {"agent": _only_agent(context, folder or context.cwd)}


def _only_agent(context: Context, folder: str) -> str:
    found = context.request("agents/list", cwd=folder)["items"]
    slugs = [item["slug"] for item in found if item["state"] in ("ok", "stale")]
    if "default" in slugs:
        return "default"
    if len(slugs) == 1:
        return str(slugs[0])
    raise _no_agent(slugs, [item["path"] for item in found if item["state"] == "invalid"])


def _no_agent(slugs: Sequence[str], invalid: Sequence[str]) -> Failure:
    if slugs:
        hint = "or --agent-file FILE; `abey demo` shows one at work"
        return usage(f"which agent? --agent SLUG, one of: {', '.join(sorted(slugs))}; {hint}")
    broken = f"; `abey agents check {invalid[0]}` says what is wrong with that file" if invalid else ""
    hint = "`abey agents new SLUG` writes one, --agent-file FILE names one, `abey demo` shows one at work"
    return usage(f"no agent found{broken}: {hint}")


def _latest_here(context: Context) -> str:
    under = sessions(context, under=[context.cwd])
    here = [session for session in under if session["cwd"] == context.cwd and not session.get("parent")]
    if not here:
        raise unknown_session(f"no session in {context.cwd}")
    latest = max(here, key=lambda session: (session["createdAt"], session["sessionId"]))
    return str(latest["sessionId"])


def _plain(given: str) -> str:
    """Without the mark of a shortened name, as a terminal shows it."""
    return given.removesuffix("…").removesuffix("...")


def _unique(prefix: str, names: Sequence[str], what: str) -> str:
    found = sorted({name for name in names if name.startswith(prefix)})
    if prefix in found or not found or not prefix:
        return prefix
    if len(found) > 1:
        raise usage(f"{prefix!r} begins {len(found)} {what}: {', '.join(found[:5])}")
    return found[0]
