// Agent files, and a workspace that nobody trusts.
import assert from "node:assert/strict";
import { statSync, utimesSync } from "node:fs";
import { test } from "node:test";
import { asking, bash, edits } from "../support/agents";
import { missing } from "../support/available";
import { Desk } from "../support/desk";
import type { Place } from "../support/place";

const options = { skip: missing() ?? false, timeout: 600_000 };
const broken = '{\n  "slug": "broken",\n  "model": {"provider": "nobody"},\n}\n';

const prepare = async (place: Place): Promise<void> => {
  place.file(".abey/agents/broken.json", broken);
  place.file(".abey/agents/local.json", JSON.stringify({ slug: "local", ...asking({ text: "Hello." }) }));
  place.agent("mine", asking({ calls: [bash("echo mine")] }));
  place.file("long.txt", `${Array.from({ length: 30 }, (_, at) => `line ${at + 1}`).join("\n")}\n`);
  place.agent("editor", asking({ calls: [edits("long.txt", "line 15\n", "line fifteen\n")] }));
  // So that there is something to connect for
  await place.waiting("mine");
  await place.waiting("editor", "edit it");
};

test("what is wrong with an agent file is shown where it is", options, async () => {
  const desk = await Desk.sit(prepare);
  await desk.during(async ({ workbench }) => {
    await workbench.activity("Abey");
    const row = workbench.row(/^broken/).first();
    await row.waitFor();
    assert.match(await row.innerText(), /invalid · line 3: /);
    await workbench.row("local").first().waitFor();
    await workbench.opens(row);
    await workbench.tab("broken.json").waitFor();
    await workbench.page.locator(".squiggly-error").first().waitFor();
    await workbench.shot("broken-agent");
    await workbench.status(/Ln 3, Col/).waitFor();
  });
});

test("in restricted mode nothing of the workspace is read, and a button trusts it", options, async () => {
  const settings = {
    "security.workspace.trust.enabled": true,
    "security.workspace.trust.startupPrompt": "never",
    "security.workspace.trust.banner": "never",
  };
  const unread = new Date(0);
  const desk = await Desk.sit(async (place) => {
    await prepare(place);
    // Older than what stands there: the first to read it leaves a trace
    ["broken", "local"].forEach((slug) => utimesSync(place.path(`.abey/agents/${slug}.json`), unread, new Date()));
  }, { settings });
  await desk.during(async ({ workbench, place }) => {
    const read = (slug: string): boolean => statSync(place.path(`.abey/agents/${slug}.json`)).atimeMs > 0;
    await workbench.activity("Abey");
    await workbench.row("This folder’s agents are not read").waitFor();
    await workbench.row(/^mine/).first().waitFor();
    assert.equal(await workbench.row(/^local/).count(), 0);
    assert.equal(await workbench.row(/^broken/).count(), 0);
    await workbench.choose("echo mine");
    await workbench.review("echo mine");
    await workbench.shot("restricted");
    // What would change is the daemon's word; the file itself is not opened
    await workbench.choose("edit_file");
    await workbench.tab("long.txt").waitFor();
    const after = workbench.page.locator(".monaco-diff-editor .editor.modified .view-lines");
    await after.getByText("fifteen").first().waitFor();
    assert.doesNotMatch(await after.innerText(), /line\s30/);
    await workbench.shot("restricted-diff");
    assert.deepEqual(["broken", "local"].filter(read), []);
    await workbench.choose("This folder’s agents are not read");
    await workbench.page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).waitFor();
    await workbench.shot("trust");
    await workbench.page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).click();
    await workbench.row(/^local/).first().waitFor();
    await workbench.row(/^broken/).first().waitFor();
    assert.deepEqual(["broken", "local"].filter(read), ["broken", "local"]);
    await workbench.row("This folder’s agents are not read").waitFor({ state: "detached" });
  });
});
