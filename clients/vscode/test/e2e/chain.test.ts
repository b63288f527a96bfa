// A day's work in a real VS Code in a real browser: the packed extension, the real daemon, one window.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asking, bash, edits, lasting, writes, type Entry } from "../support/agents";
import { missing } from "../support/available";
import { Desk } from "../support/desk";
import { kept } from "../support/kept";
import { until } from "../support/until";

const options = { skip: missing() ?? false, timeout: 600_000 };
const done: Entry = { text: "Done." };

const prepare = (place: Desk["place"]): void => {
  place.file("notes.txt", "one\ntwo\nthree\n");
  place.agent("shell", asking({ text: "I look.", calls: [bash("echo from-the-shell > shell.txt")] }, done));
  place.agent("editor", asking({ calls: [edits("notes.txt", "two", "2")] }, done));
  place.agent("edited", asking({ calls: [bash("echo wrong > edited.txt")] }, done));
  place.agent("denied", asking({ calls: [bash("rm -rf everything")] }, { text: "Then not." }));
  place.agent("pair", asking({ calls: [bash("echo first > first.txt"), bash("echo second > second.txt")] }, done));
  place.agent("elsewhere", asking({ calls: [bash("echo elsewhere > elsewhere.txt")] }, done));
  place.agent("changing", asking({ calls: [writes("moving.txt", "theirs\n")] }, done));
  place.agent("rewriting", asking({ calls: [writes("again.txt", "two\n")] }, done));
  place.agent("slow", lasting({ text: "Now.", calls: [bash("echo slow > slow.txt")] }, done));
  place.agent("killed", asking({ text: "word ".repeat(40), chunkMs: 100, calls: [bash("echo killed > killed.txt")] }, done));
};

const waitingIn = async ({ place }: Desk, sessionId: string): Promise<readonly string[]> => {
  const { items } = await place.ask("agents/pending", { sessionId });
  return items.map((call) => call.callId);
};

test("a day's work", options, async (t) => {
  const desk = await Desk.sit(prepare);
  const { workbench, place } = desk;

  await desk.during(async () => {
    const step = async (name: string, run: () => Promise<void>): Promise<void> => {
      let problem: unknown;
      await t.test(name, () => run().catch((thrown: unknown) => Promise.reject((problem = thrown))));
      await workbench.shot(name.replaceAll(/\W+/g, "-"));
      // What comes after it begins where it ended
      if (problem !== undefined) {
        throw problem;
      }
    };

    const running = (): Promise<boolean> => workbench.status("Abey: running").isVisible();
    const steppedTo = (title: string, call: string): Promise<void> =>
      workbench.inline(workbench.row(title).first(), "Step", () => workbench.row(call).first().isVisible());

    await step("a session is started from the palette", async () => {
      await workbench.command("Abey: Start Session…");
      await workbench.pickOne("shell");
      await workbench.answer("look at the shell");
      await workbench.tab("look at the shell").waitFor();
      await workbench.activity("Abey");
      await workbench.row("look at the shell").first().waitFor();
    });

    await step("it is stepped inline, and the badge counts what waits", async () => {
      // One asks the model, the next one judges what it wants
      await steppedTo("look at the shell", "bash_command");
      await until("the badge says 1", async () => (await workbench.badge("Abey")) === "1");
      await workbench.status("Abey: 1 waiting").waitFor();
    });

    await step("a command is reviewed and approved", async () => {
      await workbench.choose("bash_command");
      const page = await workbench.review("from-the-shell");
      assert.equal(await page.locator("pre").first().innerText(), "echo from-the-shell > shell.txt");
      await workbench.shot("review");
      await workbench.press(page, "Approve");
      await workbench.tab("bash_command").waitFor({ state: "detached" });
      await until("it has run", () => place.read("shell.txt") === "from-the-shell\n");
      await until("nothing waits", async () => (await workbench.badge("Abey")) === "");
    });

    await step("a change of a file is reviewed in the diff editor", async () => {
      await place.waiting("editor", "edit the notes");
      await workbench.choose("edit_file");
      await workbench.tab("notes.txt (edit_file, proposed)").waitFor();
      await workbench.page.locator(".monaco-diff-editor .char-insert, .monaco-diff-editor .line-insert").first().waitFor();
      await workbench.shot("diff");
      await workbench.decide("Approve", async () => (await workbench.tab("proposed").count()) === 0);
      await until("it is written", () => place.read("notes.txt") === "one\n2\nthree\n");
    });

    await step("arguments are edited, and what was edited runs", async () => {
      const sessionId = await place.waiting("edited", "write edited");
      const editor = workbench.tab("bash_command (arguments)");
      await workbench.inline(workbench.row("echo wrong").first(), "Edit Arguments", () => editor.isVisible());
      const right = workbench.page.locator(".monaco-diff-editor .editor.modified");
      await workbench.word(right.getByText("echo wrong").last(), "wrong");
      await workbench.page.keyboard.type("right");
      await right.getByText("echo right").first().waitFor();
      await workbench.shot("arguments");
      await workbench.decide("Approve Edited", async () => (await workbench.tab("arguments").count()) === 0);
      await until("the edited one has run", () => place.read("edited.txt") === "right\n");
      const { items } = await place.ask("agents/transcript", { sessionId });
      const call = items.find((item) => item.call !== undefined)?.call;
      assert.deepEqual(call?.effectiveArguments, { command: "echo right > edited.txt" });
      assert.equal(call?.decision?.edited, true);
      assert.equal(call?.decision?.client?.kind, "vscode");
    });

    await step("a call is denied, with why", async () => {
      const sessionId = await place.waiting("denied", "delete everything");
      await workbench.choose("rm -rf");
      const page = await workbench.review("rm -rf everything");
      await page.locator("textarea").first().fill("never that");
      await workbench.press(page, "Deny");
      await until("it is denied", async () => {
        const { items } = await place.ask("agents/transcript", { sessionId });
        const call = items.find((item) => item.call !== undefined)?.call;
        return call?.state === "denied" && call.decision?.message === "never that";
      });
      await workbench.answered("rm -rf");
    });

    await step("two calls are answered in either order", async () => {
      const sessionId = await place.waiting("pair", "both of them");
      await workbench.choose("echo first");
      const first = await workbench.review("echo first");
      assert.ok(first);
      await workbench.choose("echo second");
      const second = await workbench.review("echo second");
      await workbench.press(second, "Approve");
      await until("the second has run", () => place.read("second.txt") === "second\n");
      await workbench.answered("echo second");
      assert.deepEqual(await waitingIn(desk, sessionId), ["call_1_1"]);
      await workbench.tab("echo first").click();
      await workbench.press(await workbench.review("echo first"), "Approve");
      await until("the first has run", () => place.read("first.txt") === "first\n");
      assert.deepEqual(await waitingIn(desk, sessionId), []);
    });

    await step("a call is approved in a terminal while its review is open", async () => {
      const sessionId = await place.waiting("elsewhere", "somewhere else");
      await workbench.choose("echo elsewhere");
      await workbench.review("echo elsewhere");
      const [call] = (await place.ask("agents/pending", { sessionId })).items;
      await place.abey("session", "approve", call?.token ?? "");
      await workbench.toast(/bash_command was approved by/).first().waitFor();
      await workbench.tab("echo elsewhere").waitFor({ state: "detached" });
      await until("it has run", () => place.read("elsewhere.txt") === "elsewhere\n");
    });

    await step("a file that changed meanwhile is shown again, and not written over", async () => {
      place.file("moving.txt", "ours\n");
      await place.waiting("changing", "change what moves");
      await workbench.choose("write_file");
      await workbench.tab("moving.txt").waitFor();
      place.file("moving.txt", "ours, changed\n");
      const changed = workbench.toast(/has changed since it was shown/).first();
      await workbench.decide("Approve", () => changed.isVisible());
      assert.equal(place.read("moving.txt"), "ours, changed\n");
      await workbench.page.locator(".monaco-diff-editor .editor.original").getByText("ours, changed").first().waitFor();
      await workbench.decide("Approve", () => place.read("moving.txt") === "theirs\n");
    });

    await step("the window is loaded again in mid-step, and nothing is lost", async () => {
      const { sessionId } = await place.ask("agents/start", { agent: "slow", prompt: "take your time", cwd: place.work });
      await workbench.row("take your time").first().waitFor();
      // One asks the model, the next one begins what lasts
      await place.ask("agents/step", { sessionId });
      await workbench.inline(workbench.row("take your time").first(), "Step", running);
      await workbench.reload();
      await workbench.status("Abey: running").waitFor();
      await workbench.activity("Abey");
      place.file("go.txt", "");
      await until("the step has ended", async () => (await place.ask("agents/get", { sessionId })).session.activity === "idle");
      await steppedTo("take your time", "echo slow");
      await workbench.choose("echo slow");
      await workbench.press(await workbench.review("echo slow"), "Approve");
      await until("it has run", () => place.read("slow.txt") === "slow\n");
      const { items } = await place.ask("agents/transcript", { sessionId });
      assert.deepEqual(items.filter((item) => item.kind === "answer").map((item) => item.text), ["I wait.", "Now."]);
    });

    await step("reviews are there again when the window was loaded again, with what was typed", async () => {
      place.file("again.txt", "one\n");
      await place.waiting("rewriting", "write it again");
      await workbench.choose("write_file");
      await workbench.tab("again.txt").waitFor();
      const sessionId = await place.waiting("denied", "delete it again");
      await workbench.choose("rm -rf");
      await (await workbench.review("rm -rf")).locator("textarea").first().fill("typed before");
      await kept(workbench.page, "typed before", "again.txt");
      await workbench.reload();
      const page = await workbench.review("rm -rf");
      assert.equal(await page.locator("textarea").first().inputValue(), "typed before");
      await workbench.press(page, "Deny");
      await until("it is denied", async () => (await waitingIn(desk, sessionId)).length === 0);
      await workbench.tab("again.txt").click();
      await workbench.page.locator(".monaco-diff-editor .editor.modified").getByText("two").first().waitFor();
      await workbench.decide("Approve", () => place.read("again.txt") === "two\n");
    });

    await step("the daemon is killed in mid-step, and the step goes on", async () => {
      const { sessionId } = await place.ask("agents/start", { agent: "killed", prompt: "be killed", cwd: place.work });
      await workbench.row("be killed").first().waitFor();
      const activity = async (): Promise<string> => (await place.ask("agents/get", { sessionId })).session.activity;
      await workbench.inline(workbench.row("be killed").first(), "Step", async () => (await activity()) === "model");
      await place.kill();
      await until("the session is there again", async () => (await activity()) === "idle");
      await steppedTo("be killed", "echo killed");
    });
  });
});
