// Explain Policy and Manage Rules.
import * as vscode from "vscode";
import type { Context } from "../context";
import { escapeLabel, escapeLine } from "../core/escape";
import { explanation, ruleText } from "../core/policy";
import { agents, type ExplainParams, type Rule, type RulesParams } from "../protocol";
import { callOf, record, sessionIdOf, text } from "../core/given";
import { chooseSession } from "./choosing";
import type { Pages } from "./pages";
import { shownSession } from "../panel/open";

export function registerPolicy(context: Context, pages: Pages): void {
  context.command("abey.explain", (given) => explain(context, pages, given));
  context.command("abey.rules", (given) => manageRules(context, given));
}

/** Of a call that waits, or of params of agents/explain; else the tool and its arguments are asked for. */
async function explain(context: Context, pages: Pages, given: unknown): Promise<unknown> {
  const asked = explainParams(given) ?? (await askWhat(context, given));
  if (asked === undefined) {
    return undefined;
  }
  const result = await context.daemon.request(agents.explain, asked);
  await pages.show("Policy", explanation(asked, result));
  return result;
}

function explainParams(given: unknown): ExplainParams | undefined {
  const call = callOf(given);
  if (call !== undefined) {
    return { sessionId: call.sessionId, tool: call.tool, arguments: call.arguments };
  }
  return text(given, "tool") === undefined ? undefined : (record(given) as unknown as ExplainParams);
}

async function askWhat(context: Context, given: unknown): Promise<ExplainParams | undefined> {
  const sessionId = await chooseSession(context, given, "The session whose policy is asked");
  const tool =
    sessionId && (await vscode.window.showInputBox({ title: "The tool", placeHolder: "shell", ignoreFocusOut: true }));
  if (!sessionId || !tool) {
    return undefined;
  }
  const typed = await vscode.window.showInputBox({
    title: `The arguments of ${tool}, as JSON`,
    value: "{}",
    ignoreFocusOut: true,
    validateInput: (value) => (isJson(value) ? undefined : "This is no JSON"),
  });
  return typed === undefined ? undefined : { sessionId, tool, arguments: JSON.parse(typed) as unknown };
}

type RulePick = vscode.QuickPickItem & { readonly rule: Rule };

/** `{action, …}` as agents/rules has it asks nothing; else all that is remembered, where the button of a rule removes it. */
async function manageRules(context: Context, given: unknown): Promise<unknown> {
  if (text(given, "action") !== undefined) {
    return context.daemon.request(agents.rules, given as RulesParams);
  }
  const sessionId = sessionIdOf(given) ?? shownSession();
  const of = sessionId === undefined ? {} : { sessionId };
  const remove: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Remove this rule" };
  const pick = (rule: Rule): RulePick => ({
    rule,
    label: escapeLabel(ruleText(rule)),
    description: escapeLabel(`${rule.scope}${rule.workspace === undefined ? "" : ` ${rule.workspace}`}`),
    detail: escapeLabel(`${rule.origin}; used ${rule.uses} times`),
    buttons: [remove],
  });
  const { items, damaged } = await context.daemon.request(agents.rules, { action: "list", ...of });
  const picker = vscode.window.createQuickPick<RulePick>();
  picker.title = damaged === undefined ? "Remembered rules" : `None of these counts: ${escapeLine(damaged)}`;
  picker.placeholder = items.length === 0 ? "Nothing is remembered" : "The trash removes a rule";
  picker.items = items.map(pick);
  picker.onDidTriggerItemButton(async ({ item }) => {
    try {
      const left = await context.daemon.request(agents.rules, {
        action: "remove",
        ruleId: item.rule.ruleId,
        ...(item.rule.scope === "session" ? of : {}),
      });
      picker.items = left.items.map(pick);
    } catch (problem) {
      context.failed(problem);
    }
  });
  picker.onDidAccept(() => picker.hide());
  picker.onDidHide(() => picker.dispose());
  picker.show();
  return undefined;
}

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
