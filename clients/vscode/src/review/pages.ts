// Reviews as pages: webviews that can load nothing and run nothing but their own script.
import { randomBytes } from "node:crypto";
import { homedir } from "node:os";
import * as vscode from "vscode";
import type { Context } from "../context";
import { errorText } from "../core/wording";
import { reviewOf, tabTitle, type Decided, type Done, type Shown } from "../core/review";
import type { Pending } from "../protocol";
import { pageType } from "./tabs";

interface Actions {
  open(token: string): Promise<Pending | undefined>;
  decide(token: string, decided: Decided): Promise<void>;
  edit(token: string): Promise<void>;
  output(token: string): Promise<void>;
  closed(token: string): void;
}

interface Page {
  readonly panel: vscode.WebviewPanel;
  shown: Shown & { readonly type: "show" };
}

export class Pages {
  private readonly all = new Map<string, Page>();
  private readonly restoring: vscode.Disposable;

  constructor(
    private readonly context: Context,
    private readonly actions: Actions,
  ) {
    this.restoring = vscode.window.registerWebviewPanelSerializer(pageType, {
      deserializeWebviewPanel: (panel, state) => this.restore(panel, state),
    });
  }

  has(token: string): boolean {
    return this.all.has(token);
  }

  /** `said`: why it is shown again. */
  show(pending: Pending, said?: string): void {
    const page = this.all.get(pending.token);
    if (page === undefined) {
      const options = { viewColumn: vscode.ViewColumn.Active, preserveFocus: false };
      const more = { ...this.options(), enableFindWidget: true };
      this.add(pending, vscode.window.createWebviewPanel(pageType, tabTitle(pending), options, more));
    } else {
      page.shown = this.shown(pending, said);
      void page.panel.webview.postMessage(page.shown);
      page.panel.reveal();
    }
  }

  /** False where no page shows the call. */
  say(token: string, text: string): boolean {
    const page = this.all.get(token);
    const said: Shown = { type: "say", text };
    void page?.panel.webview.postMessage(said);
    return page !== undefined;
  }

  close(token: string): void {
    this.all.get(token)?.panel.dispose();
  }

  dispose(): void {
    this.restoring.dispose();
    [...this.all.values()].forEach(({ panel }) => panel.dispose());
  }

  private async restore(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const { token } = (state ?? {}) as { readonly token?: string };
    try {
      const pending = token === undefined ? undefined : await this.actions.open(token);
      if (pending === undefined || this.all.has(pending.token)) {
        return panel.dispose();
      }
      panel.webview.options = this.options();
      this.add(pending, panel);
    } catch (problem) {
      panel.dispose();
      this.context.log.warn(`a review is not shown again: ${errorText(problem)}`);
    }
  }

  private add(pending: Pending, panel: vscode.WebviewPanel): void {
    const { token } = pending;
    this.all.set(token, { panel, shown: this.shown(pending) });
    panel.onDidDispose(() => {
      this.all.delete(token);
      this.actions.closed(token);
    });
    panel.webview.onDidReceiveMessage((done: Done) => void this.did(token, done));
    panel.webview.html = this.html(panel.webview);
  }

  private async did(token: string, done: Done): Promise<void> {
    switch (done.type) {
      case "ready":
        return void this.all.get(token)?.panel.webview.postMessage(this.all.get(token)?.shown);
      case "decide":
        return this.actions.decide(token, done.decided);
      case "edit":
      case "output":
        return this.actions[done.type](token).catch((problem: unknown) => void this.say(token, errorText(problem)));
    }
  }

  private shown(pending: Pending, said?: string): Page["shown"] {
    const review = reviewOf(pending, this.context.sessions.get(pending.sessionId), homedir());
    return { type: "show", review, ...(said === undefined ? {} : { said }) };
  }

  private get folder(): vscode.Uri {
    return vscode.Uri.joinPath(this.context.extension.extensionUri, "dist", "review", "page");
  }

  private options(): vscode.WebviewOptions {
    return { enableScripts: true, enableForms: false, localResourceRoots: [this.folder] };
  }

  private html(webview: vscode.Webview): string {
    const nonce = randomBytes(16).toString("base64url");
    const source = (name: string): vscode.Uri => webview.asWebviewUri(vscode.Uri.joinPath(this.folder, name));
    const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
    return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <link rel="stylesheet" href="${source("page.css")}">
  <title>Review</title>
</head>
<body><main></main><script nonce="${nonce}" src="${source("main.js")}"></script></body>
</html>`;
  }
}
