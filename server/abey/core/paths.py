"""A path in the arguments of a call, as the rules of a policy see it (agent-file.md, Policy)."""

PATH_DOUBT = "the path is absolute or has .. in it"
PATH_REASON = f"a rule may be about its file, and nobody can tell: {PATH_DOUBT}"


def plain_path(path: str) -> str | None:
    """The path without `.` and needless slashes; None where only a look at the folders tells which file it is."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return None if path.startswith("/") or ".." in parts else "/".join(parts)
