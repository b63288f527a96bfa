"""What the programs that a shell command names start themselves: which run others, and which are data's alone."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from abey.core.shell import Command, Word


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "pwsh"})
WRAPPERS = _listed("""
    - batch builtin busybox bwrap caffeinate chroot chrt command coproc doas env eval exec fakeroot firejail flock
    ionice ltrace nice nocorrect noglob nohup nsenter parallel pkexec proot repeat rlwrap runuser script setpriv setsid
    ssh stdbuf strace su sudo systemd-run taskset then do else time timeout toybox trap unbuffer unshare watch xargs
    """)
"""Each of their arguments may be where another command begins, or may be one."""
RESERVED = _listed("if then else elif fi for while until do done case esac select function in { } ! foreach end")
_JOINING = frozenset({"eval", "ssh", "watch", "trap"})
"""Their arguments together are a command."""
_APPENDING = frozenset({"xargs", "parallel"})
_REDEFINING = frozenset({"alias", "hash", "enable", "bind", "complete", "compgen", "mapfile", "readarray", "fc"})
_INTERPRETERS = re.compile(r"(python|pypy|perl|ruby|node|nodejs|php|lua|tclsh|osascript|deno|bun|Rscript|julia)[\d.]*")
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
_DATA = _listed("""
    : [ [[ basename cat cd chgrp chmod chown cksum cmp comm cp cut date declare df diff dirname du echo egrep exit
    export expr false fgrep file fold grep head hostname id jobs join kill ln local ls man md5sum mkdir mktemp mv nl od
    paste printenv printf pwd read readlink readonly realpath return rev rm rmdir seq set sha256sum shift sleep stat tac
    tail tee test touch tr true tty type typeset umask uname uniq unset wait wc whereis which whoami yes
    """)
"""What they are given they never run."""
_EVALUATORS = _listed("[ [[ declare export local printf read readonly test typeset unset wait")
"""Of bash: they read a name as an expression, which can hold commands."""
_GIT_DATA = _listed(
    "add blame branch checkout cherry-pick commit describe diff fetch log merge mv pull push remote reset restore "
    "rm rev-parse revert show stash status switch tag"
)
_EXECUTES = ("-exec", "-execdir", "-ok", "-okdir")
_FIND_ACTS = (*_EXECUTES, "-delete", "-fls", "-fprint", "-fprint0", "-fprintf")
_SCRIPT = re.compile(r"[\s;&|`$()<>]")
_EVALUATED = re.compile(r"\$[({\[]|`")
_INLINE = re.compile(r"-[A-Za-z]*[ceErp]|--eval|--execute|--command|-")
MOST_WORDS = 64
"""Of the words of a program that nobody knows, so many are tried as the beginning of a command."""


def is_plain(words: Sequence[Word]) -> bool:
    """Whether these words are a command which is itself what runs: no wrapper, and nothing in it that a shell would
    read once more."""
    name = _name(words[0])
    texts = [word.text for word in words]
    if not all(word.literal for word in words) or "=" in texts[0] or any(map(_EVALUATED.search, texts)):
        return False
    if any(text in ("{", "}", "[", "[[", "]", "]]") for text in texts):
        return False
    if name in WRAPPERS or name in RESERVED or name in _REDEFINING:
        return False
    if name in SHELLS:
        return not _reads_elsewhere(words) and not any(re.match(r"-\w*[cs]", text) for text in texts)
    if name == "find":
        return not any(text in _FIND_ACTS for text in texts)
    return name != "git" or not _git_overrides(texts)


@dataclass(frozen=True, slots=True)
class Found:
    """`read` reads a text as one more script: (text, whether it surely runs). `doubt` tells why nobody can say."""

    emit: Callable[[Command], None]
    read: Callable[[str, bool], None]
    doubt: Callable[[str], None]

    def command(self, words: tuple[Word, ...], *, sure: bool) -> None:
        """The command itself, and all that it starts."""
        self.emit(Command(words, sure))
        name = _name(words[0])
        if not words[0].literal:
            self._suffixes(words, sure=False)
        elif name in WRAPPERS:
            self._suffixes(words, sure=sure)
            self._arguments(words, sure=sure)
            if name in _JOINING:
                self._joined(words, sure=sure)
            if name in _APPENDING and any(_name(word) in WRAPPERS | SHELLS for word in words[1:]):
                self.doubt(f"{name} adds words that are not there yet")
        else:
            self._program(words, sure=sure)

    def _program(self, words: tuple[Word, ...], *, sure: bool) -> None:
        name = _name(words[0])
        if name in SHELLS:
            self._shell(words, sure=sure)
        elif name in ("source", ".") and any(_is_device(word) for word in words[1:]):
            self.doubt(f"{name} reads commands that are not there")
        elif name == "git":
            if not self._git(words, sure=sure):
                self._suffixes(words, sure=False)
                self._arguments(words, sure=False)
        elif name == "find":
            self._find(words, sure=sure)
        elif name in _REDEFINING:
            self.doubt(f"{name} changes what other words mean")
        elif self._runs_code(name, words):
            self.doubt(f"{name} runs code that is no shell's")
        elif name not in _AWKS and not _is_data(name, words):
            self._suffixes(words, sure=False)
            self._arguments(words, sure=False)

    def _suffixes(self, words: tuple[Word, ...], *, sure: bool) -> None:
        if len(words) > MOST_WORDS:
            self.doubt(f"more than {MOST_WORDS} words")
        for at in range(1, min(len(words), MOST_WORDS)):
            self._suffix(words[at:], sure=sure)

    def _suffix(self, words: tuple[Word, ...], *, sure: bool) -> None:
        first = words[0]
        if any(word.text == "{}" for word in words):
            words = tuple(Word("", literal=False) if word.text == "{}" else word for word in words)
        self.emit(Command(words, sure))
        if first.literal and _name(first) in SHELLS:
            self._shell(words, sure=sure)
        elif first.literal and _name(first) == "git":
            self._git(words, sure=sure)
        elif self._runs_code(_name(first), words):
            self.doubt(f"{_name(first)} runs code that is no shell's")

    def _arguments(self, words: Sequence[Word], *, sure: bool) -> None:
        """Each argument that looks like a script, as far as it is known: whole, and as what follows its `=`."""
        for word in words[1:]:
            if _SCRIPT.search(word.text):
                self.read(word.text, sure)
                _, sign, value = word.text.partition("=")
                if sign:
                    self.read(value, sure)

    def _joined(self, words: Sequence[Word], *, sure: bool) -> None:
        if not all(word.literal for word in words):
            self.doubt(f"{words[0].text} runs a text that is not there yet")
            return
        for at in range(1, min(len(words), MOST_WORDS) if words[0].text == "ssh" else 2):
            self.read(" ".join(word.text for word in words[at:]), sure)

    def _shell(self, words: Sequence[Word], *, sure: bool) -> None:
        if _reads_elsewhere(words) or not all(word.literal for word in words):
            self.doubt(f"{_name(words[0])} runs a text that is not there yet")
        if any(re.match(r"[-+]\w*c", word.text) for word in words[1:]):
            for word in (word for word in words[1:] if word.literal and word.text[:1] not in ("-", "+")):
                self.read(word.text, sure)

    def _find(self, words: tuple[Word, ...], *, sure: bool) -> None:
        at = next((at for at, word in enumerate(words) if word.text in _EXECUTES), None)
        if at is not None:
            self._suffixes(words[at:], sure=sure)
            self._arguments(words[at:], sure=sure)

    def _git(self, words: tuple[Word, ...], *, sure: bool) -> bool:
        """Its own options come before the word that says what it does. Whether that starts nothing else."""
        if _git_overrides([word.text for word in words]):
            self.doubt("git is told to do something else")
        does = [at for at in range(1, len(words)) if not words[at].text.startswith("-")][:2]
        for at in does:
            self.emit(Command((words[0], *words[at:]), sure))
        return any(words[at].text in _GIT_DATA for at in does)

    def _runs_code(self, name: str, words: Sequence[Word]) -> bool:
        """Whether a program of another language is among the arguments, or comes from elsewhere."""
        if name in _AWKS:
            return any(re.search(r"system|getline|\|", word.text) or not word.literal for word in words[1:])
        if not _INTERPRETERS.fullmatch(name):
            return False
        return not any(not word.text.startswith("-") for word in words[1:]) or any(
            _INLINE.fullmatch(word.text) or not word.literal or _is_device(word) for word in words[1:]
        )


def _name(word: Word) -> str:
    return word.text.rpartition("/")[2]


def _is_data(name: str, words: Sequence[Word]) -> bool:
    """Whether what it is given is never run."""
    evaluates = name in _EVALUATORS and any(_EVALUATED.search(word.text) for word in words)
    return name in _DATA and not evaluates


def _is_device(word: Word) -> bool:
    return not word.literal or word.text.startswith(("/dev/", "/proc/")) or word.text == "-"


def _reads_elsewhere(words: Sequence[Word]) -> bool:
    """Whether a shell is told neither a file nor a text to run."""
    given = list(_given(words))
    return not given or any(_is_device(word) for word in given[:1])


def _given(words: Sequence[Word]) -> Iterator[Word]:
    yield from (word for word in words[1:] if not word.text.startswith(("-", "+")) or word.text == "-")


def _git_overrides(texts: Sequence[str]) -> bool:
    for text in texts[1:]:
        if not text.startswith("-"):
            return False
        if text.startswith(("-c", "--config-env", "--exec-path")):
            return True
    return False
