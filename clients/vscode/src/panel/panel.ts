// The panel of one session in VS Code: a page that is told what it shows by the model behind it.
import * as vscode from "vscode";
import type { Context } from "../context";
import { cut, escapeLabel } from "../core/escape";
import type { FromPage, PageState } from "../core/page";
import { PanelModel } from "../core/panel-model";
import { openReview } from "../review/open";
import { pageOf } from "./html";
import type { Kept } from "./kept";
import { openOutput } from "./outputs";

export const viewType = "abey.session";

const titleLength = 40;

export class SessionPanel implements vscode.Disposable {
  private readonly model: PanelModel;
  private readonly listening: vscode.Disposable[];

  constructor(
    private readonly context: Context,
    readonly sessionId: string,
    private readonly panel: vscode.WebviewPanel,
    kept: Kept,
    openSession: (sessionId: string) => Promise<void>,
  ) {
    const soon = (doing: Thenable<unknown>): void => void doing.then(undefined, (problem: unknown) => context.failed(problem));
    this.model = new PanelModel(context.daemon, context.followings, sessionId, {
      // False of a page that is not shown: it is told everything when it comes back
      post: (frame) => soon(panel.webview.postMessage(frame)),
      openReview: (token) => soon(openReview(token)),
      openSession: (id) => soon(openSession(id)),
      openOutput: (callId) => soon(openOutput(sessionId, callId)),
      titled: (title) => (panel.title = cut(escapeLabel(title), titleLength)),
      keep: (state) => kept.keep(sessionId, state),
      openLink: (href) => soon(vscode.env.openExternal(vscode.Uri.parse(href, true))),
    });
    this.listening = [
      panel.webview.onDidReceiveMessage((message: FromPage) => this.model.receive(message)),
      panel.onDidChangeViewState(() => panel.visible || this.model.hidden()),
    ];
    this.fill(kept.of(sessionId));
  }

  get active(): boolean {
    return this.panel.active;
  }

  reveal(): void {
    this.panel.reveal();
  }

  dispose(): void {
    this.listening.forEach((listener) => listener.dispose());
    this.model.dispose();
  }

  private fill(kept: PageState | undefined): void {
    const { webview } = this.panel;
    const root = vscode.Uri.joinPath(this.context.extension.extensionUri, "dist", "webview");
    const address = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(root, name)).toString();
    webview.options = { enableScripts: true, localResourceRoots: [root] };
    const parts = { script: address("main.js"), style: address("panel.css"), sessionId: this.sessionId };
    webview.html = pageOf({ ...parts, ...(kept !== undefined && { kept }) }, webview.cspSource);
  }
}
