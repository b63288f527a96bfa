// Runs index.ts inside the extension host of a real VS Code, by the payload that VS Code's own tests in a browser use.
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { asking, bash, writes } from "../support/agents";
import { missing } from "../support/available";
import { Browser } from "../support/browser";
import { Code } from "../support/code";
import { Place } from "../support/place";

const patience = 600_000;

test("the suite in the extension host passes", { skip: missing() ?? false, timeout: patience }, async () => {
  const place = new Place();
  place.agent("asking", asking({ text: "I look.", calls: [bash("echo one"), bash("echo two")] }, { text: "Done." }));
  place.agent("writing", asking({ calls: [writes("notes.txt", "theirs\n")] }, { text: "Done." }));
  const code = await Code.start(place, { more: ["--enable-smoke-test-driver"] });
  const browser = await Browser.open(place);
  try {
    const ended = new Promise<number>((done) => void browser.page.exposeFunction("codeAutomationExit", done));
    const said: string[] = [];
    await browser.page.exposeFunction("codeAutomationLog", (_kind: string, words: readonly unknown[]) => {
      said.push(words.join(" "));
    });
    const remote = (path: string): string => `vscode-remote://127.0.0.1:${code.port}${resolve(path)}`;
    const payload = [
      ["extensionDevelopmentPath", remote(".")],
      ["extensionTestsPath", remote("out/test/host/index.js")],
      ["skipWelcome", "true"],
      ["skipReleaseNotes", "true"],
    ] as const;
    await browser.page.goto(code.url(place.work, payload));
    const status = await ended;
    // Of all that a workbench says
    console.log(said.filter((line) => status !== 0 || /^(ok -|VS Code|\d+ passed)/.test(line)).join("\n"));
    assert.equal(status, 0, code.said());
    assert.deepEqual(browser.foreign, []);
  } finally {
    await browser.close();
    await code.stop();
    await place.dispose();
  }
});
