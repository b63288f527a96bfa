// What the title bar of a diff offers. Only a click there, or a key that somebody gave it, decides.
import * as vscode from "vscode";
import type { Context } from "../context";
import type { Outcome } from "../protocol";
import { isArguments, isCompared } from "./argued";
import { Fronts } from "./fronts";
import { subjectOf, type Subject } from "./proposals";
import type { Reviews } from "./reviews";
import { uriIn } from "./tabs";

export function registerTitles(context: Context, reviews: Reviews): void {
  const fronts = new Fronts();
  const { sessions } = context;

  /** The tab whose title bar was clicked, else the one in front; not one that has only just come there. */
  const clicked = (given: unknown): vscode.Tab | undefined => {
    const tab = given instanceof vscode.Uri ? fronts.tabOf(given) : vscode.window.tabGroups.activeTabGroup.activeTab;
    return fronts.isSettled(tab) ? tab : undefined;
  };
  const decided = async (given: unknown, outcome: Outcome, resume: (subject: Subject) => boolean): Promise<void> => {
    const subject = changeIn(clicked(given));
    if (subject !== undefined && (await reviews.known(subject.token))) {
      await reviews.decide(subject.token, { argumentsHash: subject.argumentsHash, outcome, resume: resume(subject) });
    }
  };
  const argued = async (given: unknown, resume: boolean): Promise<void> => {
    const tab = clicked(given);
    const document = uriIn(tab);
    if (isArguments(document)) {
      await (isCompared(tab) ? reviews.approveArguments(document, resume) : reviews.compare(document));
    }
  };
  const shown = async (given: unknown, show: (token: string) => Promise<void>): Promise<void> => {
    const subject = changeIn(clicked(given));
    await (subject && show(subject.token));
  };
  const continues = (tab: vscode.Tab | undefined): boolean => {
    const token = changeIn(tab)?.token;
    const sessionId = token === undefined ? sessionOf(uriIn(tab)) : sessions.call(token)?.sessionId;
    return sessions.get(sessionId ?? "")?.drivenBy === "run";
  };
  const tell = (): void => {
    const now = continues(vscode.window.tabGroups.activeTabGroup.activeTab);
    void vscode.commands.executeCommand("setContext", "abey.reviewContinues", now);
  };

  context.register(fronts, fronts.onChange(tell), sessions.onChange(tell));
  context.command("abey.approveReview", (given) => decided(given, { kind: "approve" }, () => false));
  context.command("abey.approveReviewAndContinue", (given) => decided(given, { kind: "approve" }, () => true));
  context.command("abey.denyReview", (given) => decided(given, { kind: "deny" }, () => continues(clicked(given))));
  context.command("abey.editReview", (given) => shown(given, (token) => reviews.edit(token)));
  context.command("abey.reviewDetails", (given) => shown(given, (token) => reviews.open(token, true)));
  context.command("abey.approveEdited", (given) => argued(given, false));
  context.command("abey.approveEditedAndContinue", (given) => argued(given, true));
  tell();
}

/** The call whose change is seen, both sides of it. */
function changeIn(tab: vscode.Tab | undefined): Subject | undefined {
  const input = tab?.input;
  const subject = input instanceof vscode.TabInputTextDiff ? subjectOf(input.modified) : undefined;
  return subject?.part === "after" ? subject : undefined;
}

/** The name of a document of arguments begins with its session. */
function sessionOf(document: vscode.Uri | undefined): string | undefined {
  return isArguments(document) ? document.path.split("/").at(-1)?.split(".")[0] : undefined;
}
