// The page of a panel: nothing in it but its own script and style, and nothing from elsewhere.
import { randomBytes } from "node:crypto";
import type { PageState } from "../core/page";

export interface Parts {
  readonly script: string;
  readonly style: string;
  readonly sessionId: string;
  /** What an earlier page of this session has kept. */
  readonly kept?: PageState;
}

/** `style` and `script` are addresses of ours; `source` is what the policy calls them. */
export function pageOf({ script, style, sessionId, kept }: Parts, source: string): string {
  const nonce = randomBytes(18).toString("base64url");
  const policy = `default-src 'none'; style-src ${source}; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${attribute(style)}">
<title>Session</title>
</head>
<body data-session="${attribute(sessionId)}" data-kept="${attribute(JSON.stringify(kept ?? null))}">
<script nonce="${nonce}" src="${attribute(script)}"></script>
</body>
</html>`;
}

function attribute(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
