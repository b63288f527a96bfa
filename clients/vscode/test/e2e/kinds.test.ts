// Calls of every kind are answered on their pages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asking, asksVersion, bash, writes } from "../support/agents";
import { askingServer } from "../support/asking-server";
import { missing } from "../support/available";
import { Desk } from "../support/desk";
import { confirming, install } from "../support/hook";
import { until } from "../support/until";

const options = { skip: missing() ?? false, timeout: 600_000 };
const done = { text: "Done." };
const command = "git log --oneline -5\u200b && \u001b[1mecho 'done'\u001b[0m";

const prepare = (place: Desk["place"]): void => {
  install(place, confirming);
  const server = place.file("../server.py", askingServer);
  place.agent("command", asking({ text: "I look.", calls: [bash(command)] }, done));
  place.agent("status", asking({ text: "I look.", calls: [bash("git status --short"), bash("git status --short")] }, done));
  place.agent("outside", asking({ calls: [asksVersion("Which version is it?")] }, done));
  place.agent("question", {
    ...asking({ calls: [{ tool: "mcp_desk_ask", arguments: {} }] }, done),
    toolCallPolicy: { default: "runSync" },
    tools: [{ kind: "mcp", name: "desk", command: ["python3", server] }],
  });
  place.agent("writer", asking({ calls: [writes("kept.txt", "kept\n")] }, done));
  place.agent("confirmed", {
    ...asking({ calls: [bash("echo pushed >> pushed.txt # confirm")] }, done),
    toolCallPolicy: { default: "runSync" },
  });
  place.agent("cut", {
    ...asking({ calls: [bash("echo half of it; sleep 600")] }, done),
    toolCallPolicy: { default: "runSync" },
  });
  place.agent("again", {
    ...asking({ calls: [bash("seq 2000; echo began >> again.txt; until [ -e again-may-end ]; do sleep 0.1; done")] }, done),
    toolCallPolicy: { default: "runSync" },
  });
};

test("calls of every kind are answered on their pages", options, async (t) => {
  const desk = await Desk.sit(prepare);
  const { workbench, place } = desk;
  const callIn = async (sessionId: string) => {
    const { items } = await place.ask("agents/transcript", { sessionId });
    return items.filter((item) => item.call !== undefined).at(-1)?.call;
  };
  await desk.during(async () => {
    await t.test("a command that hides something", async () => {
      await place.waiting("command", "look at the log");
      await workbench.activity("Abey");
      await workbench.choose("git log");
      const page = await workbench.review("git log");
      await workbench.shot("command");
      await workbench.press(page, "Deny");
      await workbench.answered("git log");
    });

    await t.test("always, with the rule narrowed to this session", async () => {
      const sessionId = await place.waiting("status", "look at the status");
      await workbench.choose("git status");
      const page = await workbench.review("git status");
      await page.locator("summary", { hasText: "Always" }).click();
      const rule = JSON.parse(await page.locator("textarea.rule").inputValue()) as { readonly scope: string };
      assert.equal(rule.scope, "session");
      const edgeOf = (selector: string, edge: "top" | "bottom"): Promise<number> =>
        page.locator(selector).evaluate((element, which) => element.getBoundingClientRect()[which], edge);
      await until("all of it is seen", async () => (await edgeOf(".always > button", "bottom")) <= (await edgeOf("footer", "top")));
      await workbench.shot("always");
      await workbench.press(page, "Keep Rule and Approve");
      await until("both calls are answered", async () => (await place.ask("agents/pending", { sessionId })).items.length === 0);
      const { items } = await place.ask("agents/rules", { action: "list", sessionId });
      assert.deepEqual(items.map(({ match, scope }) => [match?.["/command"], scope]), [["git status --short", "session"]]);
      await workbench.answered("git status");
    });

    await t.test("always, from the diff of a write", async () => {
      const sessionId = await place.waiting("writer", "write and remember");
      await workbench.choose("write_file");
      await workbench.tab("kept.txt (write_file, proposed)").waitFor();
      await workbench.more("Details and Always…", () => workbench.reviewed("kept"));
      const page = await workbench.review("kept");
      await page.locator("summary", { hasText: "Always" }).click();
      await workbench.shot("always-of-a-diff");
      await workbench.press(page, "Keep Rule and Approve");
      await until("it is answered", async () => (await place.ask("agents/pending", { sessionId })).items.length === 0);
      await workbench.answered("write_file");
      const { items } = await place.ask("agents/rules", { action: "list", sessionId });
      assert.deepEqual(items.map(({ tool, scope }) => [tool, scope]), [["write_file", "session"]]);
    });

    await t.test("a question whose answer is yes or no", async () => {
      const ask = async (prompt: string, answer: string): Promise<string | undefined> => {
        const sessionId = await place.waiting("confirmed", prompt, "turn");
        await workbench.choose("May this be pushed?");
        const page = await workbench.review("May this be pushed?");
        await workbench.shot(`yes-or-no-${answer}`);
        await workbench.press(page, answer);
        await until("it has ended", async () => ["completed", "denied"].includes((await callIn(sessionId))?.state ?? ""));
        await workbench.answered("May this be pushed?");
        return (await callIn(sessionId))?.state;
      };
      assert.equal(await ask("push it not", "No"), "denied");
      assert.equal(place.read("pushed.txt"), undefined);
      assert.equal(await ask("push it", "Yes"), "completed");
      assert.equal(place.read("pushed.txt"), "pushed\n");
    });

    await t.test("the result of a call that others run", async () => {
      const sessionId = await place.waiting("outside", "ask for the version");
      await workbench.choose("ask_version");
      const page = await workbench.review("Which version");
      await page.locator("textarea").first().fill("1.2.3");
      await workbench.shot("external");
      assert.equal(await page.locator("textarea").first().inputValue(), "1.2.3");
      await workbench.press(page, "Complete");
      await until("it is complete", async () => (await callIn(sessionId))?.state === "completed");
      assert.equal((await callIn(sessionId))?.output, "1.2.3");
      await workbench.answered("ask_version");
    });

    await t.test("the answer to a question", async () => {
      const sessionId = await place.waiting("question", "ask me");
      await workbench.choose("Which version is released?");
      const page = await workbench.review("Which version is released?");
      await workbench.press(page, "Answer");
      await page.locator("#said", { hasText: "Version: An answer is needed" }).waitFor();
      await page.getByLabel("Version (needed)").fill("2.0.0");
      await page.getByLabel("Channel").selectOption("beta");
      await page.getByLabel("Tell everybody").selectOption("No");
      await page.getByLabel("Copies").fill("3");
      await workbench.shot("question");
      await workbench.press(page, "Answer");
      await until("it has ended", async () => (await callIn(sessionId))?.state === "completed");
      assert.match(JSON.stringify((await callIn(sessionId))?.output), /2\.0\.0/);
      await workbench.answered("Which version is released?");
    });

    await t.test("a call that may have run", async () => {
      const { sessionId } = await place.ask("agents/start", { agent: "cut", prompt: "be cut off", cwd: place.work, run: "turn", wait: false });
      await until("it runs", async () => (await callIn(sessionId))?.state === "running");
      await place.kill();
      await workbench.choose("half of it");
      const page = await workbench.review("half of it");
      await workbench.shot("uncertain");
      await page.locator("textarea").first().fill("half");
      await workbench.press(page, "It Ran: This Is the Result");
      await until("it is complete", async () => (await callIn(sessionId))?.state === "completed");
      await workbench.answered("half of it");
    });

    await t.test("a call that may have run is looked at whole, and run again", async () => {
      const { sessionId } = await place.ask("agents/start", { agent: "again", prompt: "run twice", cwd: place.work, run: "turn", wait: false });
      await until("it has printed", () => place.read("again.txt") !== undefined && place.printed(sessionId) > 8000);
      await place.kill();
      await workbench.choose("seq 2000");
      const page = await workbench.review("seq 2000");
      await workbench.press(page, "All of the Output…");
      await workbench.page.locator(".monaco-editor .view-lines").getByText("1", { exact: true }).first().waitFor();
      await workbench.shot("all-of-the-output");
      await workbench.tab("seq 2000").click();
      place.file("again-may-end", "");
      await workbench.press(await workbench.review("seq 2000"), "Run Again and Continue");
      await until("it is complete", async () => (await callIn(sessionId))?.state === "completed");
      assert.equal(place.read("again.txt"), "began\nbegan\n");
      await until("the turn has ended", async () => (await place.ask("agents/get", { sessionId })).session.turn?.end === "answered");
    });
  });
});
