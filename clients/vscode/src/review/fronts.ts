// Which documents are in front, and since when: a click that was meant for what was there before decides nothing.
import * as vscode from "vscode";
import { uriIn } from "./tabs";

const settlingMs = 500;

export class Fronts {
  private since: ReadonlyMap<string, number> = new Map();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly listening: vscode.Disposable;
  readonly onChange = this.changed.event;

  constructor() {
    const { tabGroups } = vscode.window;
    this.listening = vscode.Disposable.from(
      tabGroups.onDidChangeTabs(() => this.look()),
      tabGroups.onDidChangeTabGroups(() => this.look()),
    );
    this.look();
  }

  /** The tab with this document that is in front in its group. */
  tabOf(document: vscode.Uri): vscode.Tab | undefined {
    return inFront().find((tab) => String(uriIn(tab)) === String(document));
  }

  isSettled(tab: vscode.Tab | undefined): boolean {
    const since = this.since.get(String(uriIn(tab)));
    return since !== undefined && Date.now() - since >= settlingMs;
  }

  dispose(): void {
    this.listening.dispose();
    this.changed.dispose();
  }

  private look(): void {
    const now = Date.now();
    this.since = new Map(inFront().map((tab) => String(uriIn(tab))).map((shown) => [shown, this.since.get(shown) ?? now]));
    this.changed.fire();
  }
}

function inFront(): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.activeTab ?? []);
}
