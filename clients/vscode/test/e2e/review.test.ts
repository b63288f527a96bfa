// Calls are looked at and answered, in a real VS Code in a real browser, with the packed extension and the real daemon.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asking, bash, writes } from "../support/agents";
import { missing } from "../support/available";
import { Desk } from "../support/desk";
import { until } from "../support/until";

const options = { skip: missing() ?? false, timeout: 600_000 };
const hostile = "echo one\u202e && \u001b[2Jecho 'two'\nprintf three";

test("a command is reviewed as the exact text that runs, and approved", options, async () => {
  const desk = await Desk.sit(async (place) => {
    place.agent("asking", asking({ text: "I look.", calls: [bash(hostile)] }, { text: "Done." }));
    await place.waiting("asking");
  });
  await desk.during(async ({ workbench, place }) => {
    await workbench.status("Abey: 1 waiting").waitFor();
    await workbench.activity("Abey");
    await until("the badge says 1", async () => (await workbench.badge("Abey")) === "1");
    await workbench.command("Abey: Open Walkthrough");
    const approved = workbench.page.locator('.gettingStartedContainer [data-done-step-id$="approve"]').first();
    await approved.and(workbench.page.locator('[aria-checked="false"]')).waitFor();
    await workbench.choose("bash_command");
    const page = await workbench.frame("main pre");
    await page.locator("pre").first().waitFor();
    await workbench.shot("review-command");
    assert.equal(
      await page.locator("pre").first().innerText(),
      "echo one\\u202e && \\x1b[2Jecho 'two'\nprintf three",
    );
    assert.equal(await page.evaluate("document.activeElement.tagName"), "PRE");
    await workbench.page.keyboard.press("Enter");
    await page.locator("footer button:enabled", { hasText: "Approve" }).first().waitFor();
    await workbench.page.keyboard.press("Enter");
    await page.locator("summary", { hasText: "Always" }).first().isVisible();
    const [waiting] = (await place.ask("agents/pending", {})).items;
    assert.equal(waiting?.kind, "approval");
    await page.locator("footer button", { hasText: /^Approve$/ }).first().click();
    await workbench.tab("bash_command").waitFor({ state: "detached" });
    await until("nothing waits", async () => (await place.ask("agents/pending", {})).items.length === 0);
    await workbench.shot("review-approved");
    // With it the last step of the walkthrough is done
    await approved.and(workbench.page.locator('[aria-checked="true"]')).waitFor();
  });
});

test("a write is reviewed in the diff editor, and approved in its title bar", options, async () => {
  const desk = await Desk.sit(async (place) => {
    place.file("notes.txt", "one\ntwo\n");
    place.agent("asking", asking({ calls: [writes("notes.txt", "one\nthree\n")] }, { text: "Done." }));
    await place.waiting("asking");
  });
  await desk.during(async ({ workbench, place }) => {
    await workbench.activity("Abey");
    await workbench.choose("write_file");
    await workbench.page.locator(".monaco-diff-editor .line-insert, .monaco-diff-editor .char-insert").first().waitFor();
    await workbench.shot("review-diff");
    await workbench.decide("Approve", async () => (await workbench.tab("notes.txt").count()) === 0);
    await until("the file is written", () => place.read("notes.txt") === "one\nthree\n");
  });
});
