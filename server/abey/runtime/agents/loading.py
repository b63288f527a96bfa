"""From the text of an agent file to the agent it describes, and everything there is to say about the text."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from abey.protocol.config import AgentConfig
from abey.protocol.queries import Diagnostic
from abey.runtime.agents import files, findings
from abey.runtime.agents.agents_exe import translate
from abey.runtime.agents.checks import sense_facts
from abey.runtime.agents.findings import Fact, Finding
from abey.runtime.agents.jsonc import BadSyntax, Document, Span, parse
from abey.runtime.agents.shapes import shape_facts
from abey.runtime.models.places import without_credentials
from abey.shared.escaping import escape_line


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a text came to. `raw` is its JSON in our form, self-contained (scripts read, paths absolute, no keys in
    clear); `config` is None if a finding is an error; `includes` are the files it was read
    together with, as they were."""

    text: str
    raw: Any
    config: AgentConfig | None
    findings: tuple[Finding, ...]
    includes: tuple[tuple[Path, files.Stamp | None], ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(found for found in self.findings if found.severity == "error")

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return findings.diagnostics(self.text, self.findings)

    def first_error(self, path: Path) -> str:
        """In one line: where in the file, and the fact."""
        first = self.errors[0]
        at = self.diagnostics()[self.findings.index(first)].range.start
        return f"{escape_line(str(path))}:{at.line + 1}:{at.character + 1}: {first.message}"


Look = Callable[[AgentConfig], Iterable[Fact]]
"""Says more about a config than its file can tell: what is there on this machine."""


def _no_more(_: AgentConfig) -> Iterable[Fact]:
    return ()


def load_text(text: str, origin: Path | None = None, also: Look = _no_more) -> Loaded:
    """The agent of an agent file's text; relative paths in it are relative to the folder of `origin`. What `also` says
    of the config is among the findings."""
    return load_text_in(text, origin.parent if origin else None, also)


def load_value(value: Mapping[str, Any], folder: Path | None = None) -> Loaded:
    """The agent of a JSON value: an inline config, or one out of a journal. Relative paths are relative to `folder`."""
    return load_text_in(json.dumps(value, indent=2, ensure_ascii=False), folder)


def load_text_in(text: str, folder: Path | None, also: Look = _no_more) -> Loaded:
    try:
        document = parse(text)
    except BadSyntax as bad:
        return Loaded(text, None, None, (Finding(bad.start, bad.end, "error", "syntax", bad.message),))
    reading = _Reading(document, folder)
    config = reading.config(also)
    found = sorted(reading.findings(), key=lambda finding: (finding.start, finding.end))
    whole = not any(finding.severity == "error" for finding in found)
    return Loaded(text, reading.raw, config if whole else None, tuple(found), tuple(reading.includes))


class _Reading:
    """One text being read: its value in our form, made self-contained step by step, and the facts met on the way."""

    def __init__(self, document: Document, folder: Path | None) -> None:
        self.document = document
        self.folder = folder
        self.facts: list[Fact] = []
        self.includes: list[tuple[Path, files.Stamp | None]] = []
        translation = translate(document.value)
        self.raw: Any = translation.value if translation else document.value
        self.sources = translation.sources if translation else {}
        self.theirs = translation.facts if translation else []

    def config(self, also: Look) -> AgentConfig | None:
        if isinstance(self.raw, dict):
            self.raw = {key: found for key, found in self.raw.items() if key != "$schema"}
            self._model()
            self._directories()
        if any(fact.severity == "error" for fact in self.facts):
            return None
        config, facts = shape_facts(self.raw)
        self.facts += facts if config is None else [*sense_facts(config, self.raw), *also(config)]
        return config

    def findings(self) -> list[Finding]:
        ours = [_finding(self.document, self._told(fact), self._source) for fact in self.facts]
        theirs = [_finding(self.document, fact, str) for fact in self.theirs]
        twice = [
            Finding(
                one.key.start,
                one.key.end,
                "warning",
                "duplicate-key",
                "the key stands twice; the last one counts",
                source=one.pointer,
            )
            for one in self.document.duplicates
        ]
        return ours + theirs + twice

    def _model(self) -> None:
        model = self.raw.get("model")
        if not isinstance(model, dict):
            return
        model = dict(model)
        if isinstance(model.get("apiKey"), str):
            message = "a key in clear is not used; name where it is: {env}, {file}, {id} or {keyring}"
            self.facts.append(Fact("/model/apiKey", "warning", "key-in-clear", message))
            del model["apiKey"]
        elif isinstance(model.get("apiKey"), dict) and isinstance(model["apiKey"].get("file"), str):
            model["apiKey"] = {**model["apiKey"], "file": self._absolute(model["apiKey"]["file"])}
        if isinstance(model.get("baseUrl"), str) and isinstance(model.get("provider"), str):
            self._base_url(model)
        if isinstance(model.get("script"), str):
            self._script(model)
        self.raw["model"] = model

    def _base_url(self, model: dict[str, Any]) -> None:
        """Takes a user and password out of the URL: they would be a key in clear."""
        plain = without_credentials(model["baseUrl"])
        if plain != model["baseUrl"]:
            message = "the user and password in baseUrl are not used; name a key with `apiKey`"
            self.facts.append(Fact("/model/baseUrl", "warning", "key-in-clear", message))
            model["baseUrl"] = plain

    def _script(self, model: dict[str, Any]) -> None:
        """Puts the content of the script's file in the place of its name."""
        path = Path(self._absolute(model["script"]))
        self.includes.append((path, files.stamp(path)))
        try:
            text = files.read_text(path)
        except files.Unreadable as error:
            self._bad_script(f"{escape_line(str(path))}: {error.message}")
            return
        try:
            model["script"] = parse(text).value
        except BadSyntax as bad:
            at = findings.diagnostics(text, [Finding(bad.start, bad.end, "error", "syntax", "")])[0].range.start
            self._bad_script(f"{escape_line(str(path))}:{at.line + 1}:{at.character + 1}: {bad.message}")

    def _bad_script(self, message: str) -> None:
        self.facts.append(Fact("/model/script", "error", "script", f"the script cannot be read: {message}"))

    def _directories(self) -> None:
        tools = self.raw.get("tools")
        if isinstance(tools, list):
            self.raw["tools"] = [self._placed(tool) for tool in tools]

    def _placed(self, tool: Any) -> Any:
        if not isinstance(tool, dict):
            return tool
        places = [name for name in ("directory", "path") if isinstance(tool.get(name), str)]
        return {**tool, **{name: self._absolute(tool[name]) for name in places}}

    def _absolute(self, path: str) -> str:
        return str(self.folder / path) if self.folder and not path.startswith("~") else path

    def _told(self, fact: Fact) -> Fact:
        """A fact about an included script names the script, since the text has no place for it."""
        inside = fact.pointer.removeprefix("/model/script")
        if not self.includes or inside in ("", fact.pointer):
            return fact
        return replace(
            fact, replacement=None, message=f"{escape_line(str(self.includes[0][0]))} at {inside}: {fact.message}"
        )

    def _source(self, pointer: str) -> str:
        """Where the file has what is at `pointer` in our form."""
        head, tail = pointer, ""
        while head and head not in self.sources:
            head, _, part = head.rpartition("/")
            tail = f"/{part}{tail}"
        return self.sources.get(head, "") + tail


def _finding(document: Document, fact: Fact, source: Callable[[str], str]) -> Finding:
    """`source` says where the file has what a pointer of the fact is about."""
    there = source(fact.pointer)
    span = _span(document, there, on_key=fact.on_key)
    related = None if fact.related is None else _span(document, source(fact.related), on_key=False)
    return Finding(
        span.start,
        span.end,
        fact.severity,
        fact.code,
        fact.message,
        fact.pointer,
        there,
        fact.replacement,
        (related.start, related.end) if related else None,
    )


def _span(document: Document, pointer: str, *, on_key: bool) -> Span:
    """Where the text has `pointer`, or the nearest thing around it that it has."""
    there = pointer
    while there not in document.values:
        there = there.rpartition("/")[0]
    whole = document.values[there]
    if on_key and there == pointer:
        return document.keys.get(pointer, Span(whole.start, min(whole.start + 1, whole.end)))
    return whole
