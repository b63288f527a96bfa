// The reviews that are open in this window: one a call, watched, and closed when somebody has answered.
import * as vscode from "vscode";
import type { Context } from "../context";
import { pendingCall } from "../core/calls";
import { cameOf, decide, type Came } from "../core/deciding";
import { cut, escapeLine, escapeMessage } from "../core/escape";
import type { Decided } from "../core/review";
import { errorText } from "../core/wording";
import { openOutput } from "../panel/outputs";
import type { Pending } from "../protocol";
import { Argued } from "./argued";
import { Looked } from "./looked";
import { Pages } from "./pages";
import { uriOf, type Proposals } from "./proposals";
import { allTabs, close, subjectIn, tabsOf } from "./tabs";

export class Reviews {
  readonly argued: Argued;
  private readonly pages: Pages;
  private readonly looked: Looked;
  private readonly listening: vscode.Disposable;

  constructor(
    private readonly context: Context,
    private readonly proposals: Proposals,
  ) {
    this.argued = new Argued(context);
    this.looked = new Looked(context, {
      changed: (token) => void this.changed(token),
      answered: (token, text) => void this.end(token, text),
      over: (token) => void this.shut(token),
    });
    this.pages = new Pages(context, {
      open: (token) => this.look(token),
      decide: (token, decided) => this.decide(token, decided),
      edit: (token) => this.edit(token),
      output: (token) => this.output(token),
      closed: (token) => this.left(token),
    });
    this.listening = vscode.window.tabGroups.onDidChangeTabs(({ closed }) =>
      closed.forEach((tab) => this.left(subjectIn(tab)?.token)),
    );
    // What was open when the window was loaded again is watched again
    void this.again(allTabs().flatMap((tab) => subjectIn(tab)?.token ?? []));
  }

  /** `asPage`: also what a diff could show. */
  async open(token: string, asPage = false): Promise<void> {
    const pending = await this.look(token);
    if (pending === undefined) {
      return;
    }
    const sides = asPage ? undefined : await this.proposals.sides(pending);
    if (sides === undefined) {
      this.pages.show(pending);
    } else {
      await this.diff(pending);
    }
  }

  async edit(token: string): Promise<void> {
    const pending = await this.look(token);
    if (pending !== undefined) {
      await this.argued.open(pending);
    }
  }

  /** All that a call has printed which may have run. */
  private async output(token: string): Promise<void> {
    const shown = this.looked.shown(token);
    if (shown !== undefined) {
      await openOutput(shown.sessionId, shown.callId);
    }
  }

  /** Whether a call is one that can be decided here: looked up anew where it is not, as after the window was loaded. */
  async known(token: string): Promise<boolean> {
    return this.looked.shown(token) !== undefined || (await this.look(token)) !== undefined;
  }

  /** Sends it, and shows what came of it. */
  async decide(token: string, decided: Decided): Promise<void> {
    await this.deciding(token, async (shown) => this.came(token, await decide(this.context.daemon, shown, decided)));
  }

  /** Shows the arguments that are written there beside those that were proposed. */
  async compare(document: vscode.Uri): Promise<void> {
    const pending = await this.argued.callOf(document);
    await (pending === undefined ? this.none() : this.edit(pending.token));
  }

  async approveArguments(document: vscode.Uri, resume: boolean): Promise<void> {
    const pending = await this.argued.callOf(document);
    if (pending === undefined || !(await this.known(pending.token))) {
      return this.none();
    }
    const { token } = pending;
    await this.deciding(token, async (shown) => {
      try {
        const answer = await this.argued.approve(document, resume);
        const ours = answer === undefined || answer.applied;
        await this.end(token, ours ? undefined : answer.resolution.text);
      } catch (problem) {
        await this.came(token, await cameOf(this.context.daemon, shown, problem));
      }
    });
  }

  /** With who answered, where it was not this review. */
  async end(token: string, by?: string): Promise<void> {
    const shown = this.looked.shown(token);
    this.looked.forget(token);
    if (shown !== undefined && by !== undefined) {
      this.tell(shown.tool, by);
    }
    await this.shut(token);
  }

  private async shut(token: string): Promise<void> {
    this.pages.close(token);
    await close(tabsOf(token, this.argued.documentsOf(token)));
  }

  dispose(): void {
    this.looked.dispose();
    this.listening.dispose();
    this.pages.dispose();
  }

  /** The call as it is now, from now on watched; says who answered it where it waits no more. */
  private async look(token: string): Promise<Pending | undefined> {
    const pending = await pendingCall(this.context.daemon, token);
    if (pending === undefined) {
      this.none();
      await this.end(token);
      return undefined;
    }
    this.looked.show(pending);
    return pending;
  }

  private async changed(token: string): Promise<void> {
    try {
      const pending = await pendingCall(this.context.daemon, token);
      if (pending !== undefined && pending.argumentsHash !== this.looked.shown(token)?.argumentsHash) {
        await this.showAgain(token, pending);
      }
    } catch (problem) {
      this.say(token, errorText(problem));
    }
  }

  /** It is another call than the one that was shown; whatever showed that one is gone. */
  private async showAgain(token: string, pending: Pending): Promise<void> {
    const asPage = this.pages.has(token);
    await close(tabsOf(token, []));
    this.looked.show(pending);
    const said = "What would run has changed since it was shown: look at it again, then decide.";
    if (asPage || (await this.proposals.sides(pending)) === undefined) {
      this.pages.show(pending, said);
    } else {
      await this.diff(pending);
      void vscode.window.showWarningMessage(`Abey: ${said}`);
    }
  }

  private async diff(pending: Pending): Promise<void> {
    const after = uriOf(pending, "after");
    const title = `${cut(after.path.slice(1), 120)} (${cut(escapeLine(pending.tool), 40)}, proposed)`;
    await vscode.commands.executeCommand("vscode.diff", uriOf(pending, "before"), after, title, { preview: false });
  }

  private async deciding(token: string, answer: (shown: Pending) => Promise<void>): Promise<void> {
    try {
      await this.looked.deciding(token, answer);
    } catch (problem) {
      this.say(token, errorText(problem));
    }
  }

  private async came(token: string, came: Came): Promise<void> {
    switch (came.kind) {
      case "answered":
        return this.end(token, came.ours ? undefined : came.text);
      case "changed":
        return this.showAgain(token, came.pending);
      case "refused":
        return this.say(token, came.text);
    }
  }

  private none(): void {
    void vscode.window.showInformationMessage("Abey: this call waits for nobody any more");
  }

  private say(token: string, text: string): void {
    if (!this.pages.say(token, text)) {
      void vscode.window.showWarningMessage(escapeMessage(`Abey: ${text}`));
    }
  }

  private tell(tool: string, by: string): void {
    const here = by.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/, (at) => new Date(at).toLocaleTimeString());
    void vscode.window.showInformationMessage(escapeMessage(`Abey: ${cut(escapeLine(tool), 40)} was ${here}`));
  }

  private async again(tokens: readonly string[]): Promise<void> {
    for (const token of tokens) {
      try {
        await this.look(token);
      } catch (problem) {
        this.context.log.warn(`a review is not watched: ${errorText(problem)}`);
      }
    }
  }

  /** Nobody looks at a call any more of which nothing is open. */
  private left(token: string | undefined): void {
    const isOpen = token === undefined || this.pages.has(token) || tabsOf(token, this.argued.documentsOf(token)).length > 0;
    if (!isOpen && !this.looked.isDeciding(token)) {
      this.looked.forget(token);
    }
  }
}
