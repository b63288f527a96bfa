"""`abey agents`: list, check, explain; and `abey schema`."""

import json
from pathlib import Path

from support.canned_daemon import CannedDaemon


def diagnostic(severity: int, message: str) -> dict[str, object]:
    place = {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 2}}
    return {"range": place, "severity": severity, "code": "x", "message": message, "source": "abey"}


def listing(slug: str, state: str, *diagnostics: object) -> dict[str, object]:
    path = f"/agents/{slug}.json"
    known = {"slug": slug, "path": path, "description": f"is {slug}\x1b", "state": state, "envNames": []}
    return {**known, "diagnostics": list(diagnostics)}


def test_list_names_the_agents_and_what_is_wrong_with_them(abey, daemon: CannedDaemon, work: Path) -> None:
    items = [listing("a", "ok"), listing("b", "invalid", diagnostic(1, "no model"))]
    daemon.on["agents/list"] = {"items": items, "untrusted": ["/w"]}
    assert abey("agents", "list") == (
        0,
        "a  ok  /agents/a.json  is a\\x1b\nb  invalid  /agents/b.json  is b\\x1b\n",
        "/agents/b.json:1:2: error: no model\n"
        "/w is not trusted, so that nothing in its .abey is read; `abey trust /w` trusts it\n",
    )
    assert daemon.asked == [("agents/list", {"cwd": str(work)})]


def test_check_prints_places_and_fails_on_errors_alone(abey, daemon: CannedDaemon, work: Path) -> None:
    found = {
        "good.json": [],
        "odd.json": [diagnostic(2, "no such tool")],
        "bad.json": [diagnostic(1, "no model")],
    }
    for name in found:
        (work / name).write_text("{}")
    daemon.on["agents/validate"] = lambda params: {"diagnostics": found[params["uri"].rpartition("/")[2]]}
    assert abey("agents", "check", "good.json", "odd.json") == (
        0,
        "odd.json:1:2: warning: no such tool\n",
        "good.json: nothing to say\n",
    )
    assert abey("agents", "check", "bad.json") == (1, "bad.json:1:2: error: no model\n", "")
    assert json.loads(abey("agents", "check", "bad.json", "--json").out) == {"diagnostics": found["bad.json"]}
    several = abey("agents", "check", "good.json", "bad.json", "--json")
    assert (several.code, json.loads(several.out)) == (1, [{"diagnostics": []}, {"diagnostics": found["bad.json"]}])
    assert daemon.params("agents/validate")[0] == {"uri": (work / "good.json").as_uri()}


def test_check_of_no_file_is_exit_1(abey, daemon: CannedDaemon) -> None:
    assert abey("agents", "check", "absent.json") == (1, "", "abey: absent.json cannot be read: no such file\n")


def test_explain_prints_the_verdict_and_the_chain(abey, daemon: CannedDaemon, work: Path) -> None:
    rule = {"tool": "git_*", "disposition": {"tag": "defer", "reason": "leaves"}}
    chain = [
        {"layer": "deny", "matched": False, "why": "no deny rule matches"},
        {"layer": "agent", "rule": rule, "matched": True, "why": "git_* matches\x1b"},
    ]
    daemon.on["agents/explain"] = {"disposition": rule["disposition"], "rule": rule, "chain": chain}
    ran = abey("agents", "explain", "git_push", '{"args": ["push"]}', "--agent", "a")
    spelled = '{"tool": "git_*", "disposition": {"tag": "defer", "reason": "leaves"}}'
    assert ran == (
        0,
        f'disposition: {{"tag": "defer", "reason": "leaves"}}\nrule: {spelled}\n'
        "  deny: no deny rule matches\n"
        f"  agent: {spelled} matched: git_* matches\\x1b\n",
        "",
    )
    asked = {"agent": "a", "tool": "git_push", "arguments": {"args": ["push"]}, "cwd": str(work)}
    assert daemon.asked == [("agents/explain", asked)]


def test_explain_of_arguments_that_are_no_json_is_exit_2(abey, daemon: CannedDaemon) -> None:
    assert abey("agents", "explain", "t", "{", "--agent", "a").code == 2
    assert daemon.asked == []


def test_the_schema_is_printed_without_a_daemon(abey) -> None:
    ran = abey("schema")
    assert (ran.code, json.loads(ran.out)["protocolVersion"], ran.err) == (0, "1.0", "")


def test_the_schema_of_agent_files_is_printed_without_a_daemon(abey) -> None:
    ran = abey("schema", "agent-file")
    assert (ran.code, json.loads(ran.out)["title"], ran.err) == (0, "abey agent file", "")
    assert json.loads(abey("--json", "schema", "agent-file").out) == json.loads(ran.out)


def test_of_other_schemas_it_is_said_which_there_are(abey) -> None:
    ran = abey("schema", "other")
    assert (ran.code, "protocol" in ran.err, "agent-file" in ran.err) == (2, True, True)
