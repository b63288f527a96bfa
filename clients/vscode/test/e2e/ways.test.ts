// The other ways: of an approval, of a command, and of a session from any of its points.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame, Locator } from "playwright-core";
import { asking, bash } from "../support/agents";
import { missing } from "../support/available";
import { Desk } from "../support/desk";
import { guarding, install } from "../support/hook";
import { kept } from "../support/kept";
import { until } from "../support/until";

const options = { skip: missing() ?? false, timeout: 600_000 };
const done = { text: "Done." };

const prepare = (place: Desk["place"]): void => {
  install(place, guarding);
  place.agent("asks", asking({ thinking: "I ask first.", text: "I ask.", calls: [bash("echo asked")] }, done));
  place.agent("edits", asking({ text: "I ask.", calls: [bash("echo proposed > edited.txt")] }, done));
  place.agent("tells", asking({ text: "The secret is 42." }));
  place.agent("below", asking(done));
  place.agent("above", {
    ...asking({ text: "I have it done.", calls: [{ tool: "below", arguments: { prompt: "Do it" } }] }, done),
    toolCallPolicy: { default: "runSync" },
    tools: [{ kind: "agent", name: "below", agent: "below" }],
  });
};

test("there is another way", options, async (t) => {
  const desk = await Desk.sit(prepare, { size: { width: 1280, height: 900 } });
  const { workbench, place } = desk;
  const step = async (name: string, run: () => Promise<void>): Promise<void> => {
    await t.test(name, run);
    await workbench.shot(`ways-${name.replaceAll(/\W+/g, "-")}`);
  };
  const sessionOf = async (sessionId: string) => (await place.ask("agents/get", { sessionId })).session;
  const panel = async (title: string): Promise<Frame> => {
    await workbench.opens(workbench.page.locator(`[role="treeitem"][aria-label^="${title}, "]`).first());
    return workbench.frame(`h1:text-is("${title}")`);
  };
  const menu = (): Locator => workbench.page.locator(".monaco-menu:visible");

  await desk.during(async () => {
    await workbench.activity("Abey");
    await workbench.page.locator(".pane-body", { hasText: "No sessions yet" }).first().waitFor();
    const asks = await place.waiting("asks", "Ask me");
    let frame: Frame;

    await step("what was begun elsewhere is there when one looks", async () => {
      await workbench.activity("Explorer");
      await workbench.activity("Abey");
      frame = await panel("Ask me");
    });

    await step("the menu of an approval has the other way", async () => {
      assert.equal((await sessionOf(asks)).drivenBy, "step");
      await frame.getByRole("button", { name: "Approve", exact: true }).waitFor();
      await frame.getByLabel("Besides Approve").click();
      await workbench.shot("ways-menu-of-approve");
      await frame.getByRole("button", { name: "Approve and continue", exact: true }).click({ delay: 600 });
      await until("the turn has ended", async () => (await sessionOf(asks)).turn?.end === "answered");
      await frame.locator(".status", { hasText: "answered" }).waitFor();
    });

    await step("it is forked from where its calls had results", async () => {
      // It is open still, as it was when it ran
      const card = frame.locator("article.call");
      await card.locator(".way", { hasText: "after the results" }).locator(".fork").click();
      await workbench.tab("Ask me (fork)").waitFor();
      const forked = await workbench.frame('h1:text-is("Ask me (fork)")');
      await forked.locator(".status", { hasText: "ready to ask the model" }).waitFor();
      await forked.locator("article.call").waitFor();
    });

    await step("the title bar of a panel has its commands in its menu", async () => {
      await workbench.tab(/^Ask me$|^Ask me, /).first().click();
      await workbench.menu("Open Journal", () => workbench.title("More Actions...").click({ timeout: 1000 }));
      await workbench.pick("Open Journal");
      await workbench.tab("journal.jsonl").waitFor();
    });

    await step("so has a right click in it", async () => {
      await workbench.tab(/^Ask me$|^Ask me, /).first().click();
      frame = await workbench.frame('h1:text-is("Ask me")');
      // A menu is gone when the window is another one: no picture is made of it
      await workbench.menu("Fork", () => frame.locator("article.answer").last().click({ button: "right", timeout: 1000 }));
      assert.equal(await menu().getByRole("menuitem", { name: "Step", exact: true }).count(), 0);
      const before = (await place.ask("agents/sessions", {})).items.length;
      await workbench.pick("Fork");
      await until("it is forked", async () => (await place.ask("agents/sessions", {})).items.length === before + 1);
      const [newest] = (await place.ask("agents/sessions", {})).items;
      assert.deepEqual([newest?.forkedFrom, newest?.state], [asks, "completed"]);
    });

    await step("edited arguments are approved, and the session goes on", async () => {
      const edits = await place.waiting("edits", "Edit me");
      assert.equal((await sessionOf(edits)).drivenBy, "step");
      await workbench.inline(workbench.row("echo proposed").first(), "Edit Arguments", () => workbench.tab("(arguments)").isVisible());
      await workbench.title("Approve Edited").waitFor();
      await workbench.more("Approve Edited and Continue", async () => (await workbench.tab("(arguments)").count()) === 0);
      await until("the turn has ended", async () => (await sessionOf(edits)).turn?.end === "answered");
      assert.equal(place.read("edited.txt"), "proposed\n");
    });

    await step("the extension that ended a turn is named, also after a reload", async () => {
      const tells = { agent: "tells", prompt: "Tell me", cwd: place.work, run: "turn" } as const;
      await place.ask("agents/start", tells);
      frame = await panel("Tell me");
      await frame.locator(".notice", { hasText: "the extension guarding ended it: it tells a secret" }).waitFor();
      await kept(workbench.page, "Tell me");
      await workbench.reload();
      frame = await until("its page", () => workbench.frame('h1:text-is("Tell me")').catch(() => undefined));
      await frame.locator(".notice", { hasText: "the extension guarding ended it: it tells a secret" }).waitFor();
    });

    await step("a child and the session that it works for lead to each other", async () => {
      const above = { agent: "above", prompt: "Have it done", cwd: place.work, run: "turn" } as const;
      await place.ask("agents/start", above);
      await workbench.row("for Have it done").first().waitFor();
      frame = await panel("Have it done");
      await frame.locator("article.call .head").click();
      await frame.getByRole("button", { name: "Open the session that works on it" }).click();
      await workbench.tab("Do it").waitFor();
      const child = await workbench.frame('h1:text-is("Do it")');
      await workbench.shot("ways-child");
      await child.getByRole("button", { name: "Open the session that it works for" }).click();
      await workbench.tab("Have it done").locator("..").locator(".tab.active", { hasText: "Have it done" }).waitFor();
    });
  });
});
