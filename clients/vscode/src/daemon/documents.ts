// Which files are the daemon's business: agent files, and the documents of calls.
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";

/** Of VS Code and of its language client alike. */
interface Filter {
  readonly scheme: string;
  readonly pattern: string;
}
import { configDir, stateDir } from "../core/locate";

export function documents(): Filter[] {
  const patterns = [
    "**/.abey/agents/*.json",
    "**/.abey/policy.json",
    ...folders(configDir(process.env, homedir())).flatMap((folder) => [
      `${literal(join(folder, "agents"))}/*.json`,
      `${literal(folder)}/policy.json`,
    ]),
    ...folders(stateDir(process.env, homedir())).map((folder) => `${literal(join(folder, "documents"))}/*.args.json`),
  ];
  return patterns.map((pattern) => ({ scheme: "file", pattern }));
}

/** Agent files may have comments: what VS Code took for plain JSON is not. Wherever the folders of abey are. */
export function keepLanguage(): vscode.Disposable {
  const look = (document: vscode.TextDocument): void => {
    if (document.languageId === "json" && vscode.languages.match(documents(), document) > 0) {
      void vscode.languages.setTextDocumentLanguage(document, "jsonc");
    }
  };
  vscode.workspace.textDocuments.forEach(look);
  return vscode.workspace.onDidOpenTextDocument(look);
}

/** As it is named, and as it is spelled once links are followed. */
function folders(path: string): readonly string[] {
  try {
    return [...new Set([path, realpathSync(path)])];
  } catch {
    return [path];
  }
}

/** For a pattern: brackets and stars in the name of a folder are only themselves. */
function literal(path: string): string {
  return path.replace(/[[\]{}*?]/g, "[$&]");
}
