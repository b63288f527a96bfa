// More than one: windows on the same daemon, and folders in a window.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { asking, bash } from "../support/agents";
import { missing } from "../support/available";
import { Desk } from "../support/desk";
import { until } from "../support/until";

const options = { skip: missing() ?? false, timeout: 600_000 };
const done = { text: "Done." };

test("two windows: one is told, both are up to date, and the first answer counts", options, async () => {
  const desk = await Desk.sit((place) => {
    mkdirSync(join(place.home, "elsewhere"));
    place.agent("asking", asking({ calls: [bash("date")] }, done));
  });
  await desk.during(async ({ workbench: here, place }) => {
    const there = await desk.window(join(place.home, "elsewhere"));
    for (const window of [here, there]) {
      await window.page.bringToFront();
      // Connects, and shows nothing
      await window.command("Abey: Refresh");
    }
    await place.waiting("asking", "what time");
    await here.status("Abey: 1 waiting").waitFor();
    await there.status("Abey: 1 waiting").waitFor();
    await here.toast("“what time” waits for you").waitFor();
    assert.equal(await there.toast("Abey").count(), 0, "the folder is not in this window");

    for (const window of [here, there]) {
      await window.page.bringToFront();
      await window.activity("Abey");
      await window.choose("bash_command");
      await window.review("date");
    }
    assert.match(await there.row(/^what time/).innerText(), / ~.work /, "of which folder it is");
    await there.press(await there.review("date"), "Approve");
    await there.tab("date").waitFor({ state: "detached" });
    await here.page.bringToFront();
    await here.toast(/bash_command was approved by VS Code/).waitFor();
    await here.tab("date").waitFor({ state: "detached" });
    await here.status(/waiting/).waitFor({ state: "detached" });
    await here.shot("answered-elsewhere");
    assert.equal(await there.toast(/was approved/).count(), 0, "who answered knows");
  });
});

test("a session works in the folder of the active file, else in one that is picked", options, async () => {
  const desk = await Desk.sit((place) => {
    place.agent("asking", asking(done));
    place.file("one/notes.txt", "one\n");
    place.file("two/.abey/agents/local.json", JSON.stringify({ slug: "local", ...asking(done) }));
    place.file("both.code-workspace", JSON.stringify({ folders: [{ path: "one" }, { path: "two" }] }));
  });
  await desk.during(async ({ workbench, place, code }) => {
    await desk.folders(join(place.work, "both.code-workspace"));
    const started = async (prompt: string, pick: () => Promise<void>): Promise<string | undefined> => {
      await workbench.command("Abey: Start Session…");
      await pick();
      await workbench.quick.getByRole("option", { name: /^asking/ }).waitFor();
      await workbench.answer("asking");
      await workbench.answer(prompt);
      await workbench.tab(prompt).waitFor();
      return (await place.ask("agents/sessions", {})).items.find(({ title }) => title === prompt)?.cwd;
    };
    const picked = await started("in the second", async () => {
      await workbench.quick.getByRole("option", { name: /^two/ }).waitFor();
      await workbench.shot("folders");
      await workbench.answer("two");
    });
    assert.equal(picked, join(place.work, "two"));
    await workbench.file("notes.txt");
    assert.equal(await started("in the first", () => Promise.resolve()), join(place.work, "one"));
    await workbench.activity("Abey");
    // Of every folder
    await workbench.row("local").first().waitFor();

    await workbench.open(code.empty);
    await workbench.command("Abey: Start the Demo Agent");
    await workbench.tab("Demo").waitFor();
    const demo = (await place.ask("agents/sessions", {})).items.find(({ title }) => title === "Demo");
    assert.ok(demo);
    assert.ok(demo.cwd.startsWith(join(place.root, "tmp")), demo.cwd);
    assert.deepEqual(readdirSync(demo.cwd), []);
  });
});

test("keys do what the menus say", options, async () => {
  const desk = await Desk.sit(async (place) => {
    place.agent("asking", asking({ calls: [bash("date")] }, done));
    await place.ask("agents/start", { agent: "asking", prompt: "by keys", cwd: place.work });
  });
  await desk.during(async ({ workbench, place }) => {
    const { page } = workbench;
    const session = async () => (await place.ask("agents/sessions", {})).items[0];
    await workbench.activity("Abey");
    await workbench.opens(workbench.row("by keys").first());
    const panel = await workbench.frame('h1:text-is("by keys")');
    await panel.locator("article.input").first().waitFor();
    await panel.getByLabel("Input for the session").focus();
    await page.keyboard.press("Control+Alt+S");
    await until("a step was made", async () => (await session())?.state === "llmTurn");
    await page.keyboard.press("Control+Alt+R");
    await workbench.status("Abey: 1 waiting").waitFor();
    await page.keyboard.press("Control+Alt+A");
    await workbench.review("date");
    await page.keyboard.press("Control+Alt+N");
    await workbench.quick.getByRole("option", { name: /^asking/ }).waitFor();
    await workbench.shot("start-session");
    await page.keyboard.press("Escape");
  });
});
