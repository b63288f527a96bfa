// A tree that is drawn anew, at most once in a while, when a row changed: a click on one that is being drawn finds no
// command in VS Code.
import * as vscode from "vscode";

/** Many changes in a row are one to the eye. */
const collectMs = 50;

export abstract class Tree<T> implements vscode.TreeDataProvider<T>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private timer: NodeJS.Timeout | undefined;
  private shown = "";
  readonly onDidChangeTreeData = this.changed.event;

  abstract getTreeItem(element: T): vscode.TreeItem;
  abstract getChildren(element?: T): T[];

  refresh(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const rows = JSON.stringify(this.rows());
      if (rows !== this.shown) {
        this.shown = rows;
        this.changed.fire();
      }
    }, collectMs);
  }

  private rows(element?: T): unknown {
    return this.getChildren(element).map((child) => [this.getTreeItem(child), this.rows(child)]);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.changed.dispose();
  }
}
