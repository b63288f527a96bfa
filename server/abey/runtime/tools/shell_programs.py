"""What the programs that a shell command names start themselves: which run others, and which are data's alone."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from abey.core.shell import Command, Word
from abey.runtime.tools.shell_code import given, has_own_language, is_device, runs_code
from abey.runtime.tools.shell_git import doings, is_data_only, overrides


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "pwsh"})
UNLIKE = frozenset({"fish", "csh", "tcsh", "pwsh", "ksh", "mksh"})
"""Of these nobody has looked at how they read a word."""
WRAPPERS = _listed("""
    - at batch builtin busybox bwrap caffeinate cgexec chpst chroot chrt command coproc dbus-run-session doas env eval
    exec fakeroot faketime firejail flock ionice ltrace nice nocorrect noglob nohup nsenter numactl parallel pkexec
    prlimit proot repeat rlwrap runcon runuser script setarch setpriv setsid sg ssh stdbuf strace su sudo systemd-run
    taskset then do else time timeout toybox trap unbuffer unshare valgrind watch xargs
    """)
"""Each of their arguments may be where another command begins, or may be one."""
_OPENING = {"chroot": 1, "doas": 0, "firejail": 0, "nsenter": 0, "parallel": 0, "script": 1, "ssh": 1, "sudo": 0}
_OPENING |= {"unshare": 0, "at": 99, "batch": 99, "runuser": 99, "su": 99}
"""With no more than so many words they open a shell, or do what their standard input says."""
LOADED = re.compile(r"BASH_ENV|ENV|PS4|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|LD_\w+|DYLD_\w+")
"""Variables that make programs run something else."""
RESERVED = _listed("if then else elif fi for while until do done case esac select function in { } ! foreach end")
_JOINING = frozenset({"eval", "ssh", "watch", "trap"})
"""Their arguments together are a command."""
_APPENDING = frozenset({"xargs", "parallel"})
_REDEFINING = frozenset({"alias", "hash", "enable", "bind", "complete", "compgen", "mapfile", "readarray", "fc"})
_DATA = _listed("""
    : [ [[ basename cat cd chgrp chmod chown cksum cmp comm cp cut date declare df diff dirname du echo egrep exit
    export expr false fgrep file fold grep head hostname id join kill ln local ls md5sum mkdir mktemp mv nl od
    paste printenv printf pwd read readlink readonly realpath return rev rm rmdir seq set sha256sum shift sleep stat tac
    tail tee test touch tr true tty type typeset umask uname uniq unset wait wc whereis which whoami yes
    """)
"""What they are given they never run."""
_EVALUATORS = _listed("[ [[ declare export local printf read readonly test typeset unset wait")
"""Of bash: they read a name as an expression, which can hold commands."""
_EXECUTES = ("-exec", "-execdir", "-ok", "-okdir")
_FIND_ACTS = (*_EXECUTES, "-delete", "-fls", "-fprint", "-fprint0", "-fprintf")
_SCRIPT = re.compile(r"[\s;&|`$()<>]")
_EVALUATED = re.compile(r"\$[({\[]|`")
_SIGN = re.compile(r"[^\w./-]")
MOST_GLUED = 6
"""Letters of options that may stand before a command in one word."""
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
    return name != "git" or not overrides(texts)


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
        if name in WRAPPERS | _EVALUATORS and any(LOADED.fullmatch(word.text.partition("=")[0]) for word in words[1:]):
            self.doubt(f"{name} sets what makes programs run something else")
        if not words[0].literal:
            self._suffixes(words, sure=False)
        elif name in WRAPPERS:
            self._suffixes(words, sure=sure)
            self._arguments(words, sure=sure)
            if name in _JOINING:
                self._joined(words, sure=sure)
            self._opened(words)
        else:
            self._program(words, sure=sure)

    def _program(self, words: tuple[Word, ...], *, sure: bool) -> None:
        name = _name(words[0])
        if name in SHELLS:
            self._shell(words, sure=sure)
        elif name in ("source", ".") and any(is_device(word) for word in words[1:]):
            self.doubt(f"{name} reads commands that are not there")
        elif name == "git":
            if not self._git(words, sure=sure):
                self._suffixes(words, sure=False)
                self._arguments(words, sure=False)
        elif name == "find":
            self._find(words, sure=sure)
        elif name in _REDEFINING:
            self.doubt(f"{name} changes what other words mean")
        elif runs_code(name, words):
            self.doubt(f"{name} runs code that is no shell's")
        elif not has_own_language(name) and not _is_data(name, words):
            self._glued(words)
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
        if sure:
            self._opened(words)
        if first.literal and _name(first) in SHELLS:
            self._shell(words, sure=sure)
        elif first.literal and _name(first) == "git":
            self._git(words, sure=sure)
        elif runs_code(_name(first), words):
            self.doubt(f"{_name(first)} runs code that is no shell's")
        else:
            self._glued(words)

    def _glued(self, words: tuple[Word, ...]) -> None:
        """What begins inside of the first word: behind an option (`-Srm`), a sign (`!rm`), the name of a value."""
        first = words[0]
        joints = _joints(first.text)
        if len(joints) > MOST_WORDS:
            self.doubt("a word is made of too many parts")
        for at in joints[:MOST_WORDS]:
            self.emit(Command((Word(first.text[at:], first.literal), *words[1:]), sure=False))

    def _arguments(self, words: Sequence[Word], *, sure: bool) -> None:
        """Each argument that looks like a script, as far as it is known: whole, as what follows its `=`, and as what
        begins inside of its first word."""
        for word in words[1:]:
            if _SCRIPT.search(word.text):
                self.read(word.text, sure)
                _, sign, value = word.text.partition("=")
                if sign:
                    self.read(value, sure)
                self._glued(tuple(map(Word, word.text.split())) or (word,))

    def _opened(self, words: Sequence[Word]) -> None:
        name = _name(words[0])
        if _words_given(words) <= _OPENING.get(name, -1):
            self.doubt(f"{name} may run what its standard input says")
        if name in _APPENDING and any(_name(word) in WRAPPERS | SHELLS for word in words[1:]):
            self.doubt(f"{name} adds words that are not there yet")

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
        at = next((at for at, word in enumerate(words) if word.text in _EXECUTES or not word.literal), None)
        if at is not None:
            self._suffixes(words[at:], sure=sure and words[at].literal)
            self._arguments(words[at:], sure=sure)

    def _git(self, words: tuple[Word, ...], *, sure: bool) -> bool:
        """Its own options come before the word that says what it does. Whether that starts nothing else."""
        if overrides([word.text for word in words]):
            self.doubt("git is told to do something else")
        does = doings(words)
        for at in does:
            self.emit(Command((words[0], *words[at:]), sure))
        return is_data_only(words, does)


def never_runs(words: Sequence[Word]) -> bool:
    """Whether it does not run what it reads from its standard input."""
    name = _name(words[0])
    return words[0].literal and (name == "git" or _is_data(name, words))


def _joints(text: str) -> list[int]:
    inside = [found.end() for found in _SIGN.finditer(text) if found.end() < len(text)]
    if not text.startswith("-") or text.startswith("--"):
        return inside
    return sorted({*inside, *range(2, min(len(text), MOST_GLUED))})


def _name(word: Word) -> str:
    return word.text.rpartition("/")[2]


def _is_data(name: str, words: Sequence[Word]) -> bool:
    """Whether what it is given is never run."""
    evaluates = name in _EVALUATORS and any(_EVALUATED.search(word.text) for word in words)
    return name in _DATA and not evaluates


def _reads_elsewhere(words: Sequence[Word]) -> bool:
    """Whether a shell is told neither a file nor a text to run."""
    if any(re.fullmatch(r"-[a-z]*s[a-z]*|--(?:rcfile|init-file)(?:=.*)?", word.text) for word in words[1:]):
        return not any(re.fullmatch(r"-[a-z]*c[a-z]*", word.text) for word in words[1:])
    first = next(given(words), None)
    return first is None or is_device(first)


def _words_given(words: Sequence[Word]) -> int:
    """How many words there are, without any that may be the value of an option."""
    return sum(not one.text.startswith("-") for before, one in pairwise(words) if not before.text.startswith("-"))
