"""Why the last good version of an agent is used instead of its file, in words for people, with the way out."""

from abey.errors import AbeyError, InvalidAgent, PermissionDenied, UnknownAgent

NOT_READ = (UnknownAgent, InvalidAgent, PermissionDenied)
"""Why a session goes on with the version that it used last."""


def why_stale(error: AbeyError) -> str:
    """Of a file that was not read for this."""
    match error:
        case UnknownAgent():
            return f"{error}; a file that is put there is used again"
        case InvalidAgent():
            return broken_words(str(error))
        case _:
            return str(error)


def broken_words(first_error: str) -> str:
    """Of a file with this error."""
    return f"{first_error}; `abey agents check FILE` says all that is wrong with it"
