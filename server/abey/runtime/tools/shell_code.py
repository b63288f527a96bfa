"""Programs that run code of a language that is no shell's, as far as it stands in a shell command."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from abey.core.shell import Word

_INTERPRETERS = re.compile(r"(python|pypy|perl|ruby|node|nodejs|php|lua|tclsh|osascript|deno|bun|Rscript|julia)[\d.]*")
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
_AWK_STARTS = re.compile(r"system|getline|\||@")
_STARTERS = frozenset({"dc", "ed", "ex", "expect", "gdb", "lldb", "m4"})
"""Whatever they read, of arguments, of files that they find and of standard input, may start programs."""
_FROM_FILE = re.compile(r"-[A-Za-z]*[fEi]|--(?:makefile|file|exec|include)=?")
"""Options of awk and make whose value is the file that is run."""
_MAKES = frozenset({"make", "gmake", "bmake"})
_PSQL_TOLD = re.compile(r"-[A-Za-z]*[cflV].*|--(?:command|file|list|version|help)(?:=.*)?", re.S)
LEAST_OF_SQLITE = 2
"""Words: a file, and what to do with it. With fewer it does what its standard input says."""
_INLINE = re.compile(r"-[A-Za-z0-9]*[ceErp]|--(?:eval|execute|command|print|run|import|require)(?:=.*)?|eval|-", re.S)
_VALUED = re.compile(r"[-+]\w*[oO]|-[IWXr]|--(?:rcfile|init-file|input-type|require|import)")
"""Options of shells and interpreters whose value is the next word."""
_GLUED = re.compile(r"-[^-].*[^\w./:=,-].*|.*(?:data|https?):.*", re.S)
_SED_SCRIPT = re.compile(r"-[nrEsuz]*e|--expression")
_SED_OPTION = re.compile(
    r"-[nrEsuz]*(?:e|i[.\w]*)?|--(?:expression|quiet|silent|regexp-extended|in-place(?:=.*)?|sandbox)"
)
_SED_ADDRESS = r"(?:\d+|\$|/[^/\\\n]*/)"
_SED_STEP = rf"(?:{_SED_ADDRESS}(?:,{_SED_ADDRESS})?)?!?(?:[=dDgGhHnNpPqQx]|[sy]/[^/\\\n]*/[^/\\\n]*/[gpiI0-9]*)?"
_SED_DATA = re.compile(rf"\s*{_SED_STEP}\s*(?:;\s*{_SED_STEP}\s*)*")
"""Scripts of sed that surely start nothing. Its `e`, a command and a flag of `s`, starts a program."""


def has_own_language(name: str) -> bool:
    """Whether its arguments are read by `runs_code`, and no command begins in them."""
    return name in _AWKS or name == "sed"


def runs_code(name: str, words: Sequence[Word]) -> bool:
    """Whether a program of another language is among the arguments, or comes from elsewhere."""
    if name in _AWKS:
        started = any(_AWK_STARTS.search(word.text) or not word.literal for word in words[1:])
        return started or _is_fed(words)
    if name == "sed":
        return not all(_is_sed_data(word) for word in _sed_scripts(words))
    if name in _STARTERS or _is_told_on_stdin(name, words):
        return True
    if not _INTERPRETERS.fullmatch(name):
        return False
    return not any(given(words)) or any(
        _INLINE.fullmatch(word.text) or _GLUED.fullmatch(word.text) or is_device(word) for word in words[1:]
    )


def _is_told_on_stdin(name: str, words: Sequence[Word]) -> bool:
    """Of programs that start others only where they are told to."""
    if name in _MAKES:
        return _is_fed(words) or any(word.text.startswith("--eval") for word in words)
    if name == "psql":
        return not any(_PSQL_TOLD.fullmatch(word.text) for word in words[1:])
    return name == "sqlite3" and len(list(given(words))) < LEAST_OF_SQLITE


def _is_fed(words: Sequence[Word]) -> bool:
    """Whether what is run comes from somewhere else than a file."""
    apart = any(_FROM_FILE.fullmatch(before.text) and is_device(word) for before, word in pairwise(words))
    found = ((word, _FROM_FILE.match(word.text)) for word in words[1:])
    values = (Word(word.text[option.end() :], word.literal) for word, option in found if option is not None)
    return apart or any(value.text and is_device(value) for value in values)


def is_device(word: Word) -> bool:
    """Whether what the word names is read from somewhere else than a file."""
    path = re.sub(r"^(?:/|\.\./)+", "/", posixpath.normpath(word.text))
    return not word.literal or path.startswith(("/dev/", "/proc/")) or path.rpartition("/")[2] in ("-", "stdin")


def given(words: Sequence[Word]) -> Iterator[Word]:
    """The words that are neither options nor, as far as that is known, their values."""
    for before, word in pairwise(words):
        if (not word.text.startswith(("-", "+")) or word.text == "-") and not _VALUED.fullmatch(before.text):
            yield word


def _sed_scripts(words: Sequence[Word]) -> Sequence[Word]:
    """The words that are scripts, and the options that nobody knows."""
    scripts = [after for before, after in pairwise(words) if _SED_SCRIPT.fullmatch(before.text)]
    odd = [
        word
        for word in words[1:]
        if not word.literal or (word.text[:1] == "-" and not _SED_OPTION.fullmatch(word.text))
    ]
    return [*odd, *(scripts or list(given(words))[:1])]


def _is_sed_data(word: Word) -> bool:
    return word.literal and _SED_DATA.fullmatch(word.text) is not None
