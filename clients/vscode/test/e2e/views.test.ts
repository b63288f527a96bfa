// The container and what is said outside of it: what may be approved in a row, one notification, a daemon that is not there.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { asking, bash, lasting } from "../support/agents";
import { missing } from "../support/available";
import { Desk } from "../support/desk";
import { until } from "../support/until";

const program = (place: Desk["place"]): string =>
  (place.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "abey-daemon"))
    .find(existsSync) ?? "";

const options = { skip: missing() ?? false, timeout: 600_000 };
const long = "echo a command that is longer than the row that shows it";

test("what waits is in the rows, and only a whole call can be approved there", options, async () => {
  const desk = await Desk.sit(async (place) => {
    place.agent("short", asking({ calls: [bash("date")] }, { text: "Done." }));
    place.agent("long", asking({ calls: [bash(long)] }, { text: "Done." }));
    await place.waiting("short", "by a run", "turn");
    await place.waiting("short", "by a step");
    await place.waiting("long", "[now](command:abey.log) $(bell)");
  });
  await desk.during(async ({ workbench, place }) => {
    await workbench.status("Abey: 3 waiting").waitFor();
    await workbench.toast("Abey: calls wait for you").waitFor();
    assert.equal(await workbench.toast("Abey").count(), 1, "one for all that waits");
    await workbench.activity("Abey");
    const inline = async (row: string): Promise<readonly string[]> => {
      const found = workbench.row(row).filter({ hasText: "bash_command" });
      await found.hover();
      const labels = await found
        .locator(".actions a.action-label")
        .evaluateAll((all) => all.map((each) => each.ariaLabel ?? ""));
      return labels.map((label) => label.replace(/ \(.*/, ""));
    };
    const offers = (row: string, ...labels: readonly string[]): Promise<boolean> =>
      until(`${row} offers ${labels.join()}`, async () => (await inline(row)).join() === labels.join());
    await offers("by a run", "Approve and Continue", "Edit Arguments", "Deny");
    await offers("by a step", "Approve", "Edit Arguments", "Deny");
    await offers("echo a command", "Edit Arguments", "Deny");
    await workbench.shot("rows");
    const waiting = (count: number) => () => workbench.status(`Abey: ${count} waiting`).isVisible();
    await workbench.inline(workbench.row("by a step").filter({ hasText: "bash_command" }), "Approve", waiting(2));
    await workbench.inline(workbench.row("by a run").filter({ hasText: "bash_command" }), "Approve and Continue", waiting(1));
    const states = async (): Promise<readonly string[]> =>
      (await place.ask("agents/sessions", { agent: "short" })).items
        .map(({ title, state }) => `${title}: ${state}`)
        .sort();
    await until("one has ended, one goes no further", async () => (await states()).join() === "by a run: completed,by a step: userTurn");
    await until("the badge says 1", async () => (await workbench.badge("Abey")) === "1");
  });
});

test("one notification, whose Review says who was first", options, async () => {
  const desk = await Desk.sit((place) => place.agent("short", asking({ calls: [bash("date")] }, { text: "Done." })));
  await desk.during(async ({ workbench, place }) => {
    await workbench.command("Abey: Show Log");
    const connecting = workbench.page.locator(".part.panel .view-line", { hasText: "connecting" });
    await workbench.page.locator(".part.panel .monaco-editor").first().waitFor();
    assert.equal(await connecting.count(), 0, "there is nothing to connect for");
    // Connects, and shows nothing of ours
    await workbench.command("Abey: Refresh");
    await connecting.first().waitFor();
    await place.waiting("short", "what time");
    const toast = workbench.toast("“what time” waits for you (bash_command)");
    await toast.waitFor();
    await workbench.shot("notification");
    const [call] = (await place.ask("agents/pending", {})).items;
    await place.abey("session", "deny", call?.token ?? "");
    await toast.getByRole("button", { name: "Review" }).click();
    await workbench.toast(/denied by/).waitFor();
    assert.equal(await workbench.dialogs.count(), 0);
    await workbench.activity("Abey");
    // What shows it has told that it is seen
    await workbench.row("what time").first().waitFor();
    await place.waiting("short", "and now");
    await workbench.row("and now").first().waitFor();
    await workbench.status("Abey: 1 waiting").waitFor();
    assert.equal(await workbench.toast("waits for you").count(), 0, "it is seen already");
  });
});

test("without a daemon there is one button, and one is found once it is there", options, async () => {
  const desk = await Desk.sit((place) => writeFileSync(join(place.home, ".profile"), "export PATH=/usr/bin:/bin\n"));
  await desk.during(async ({ workbench, place }) => {
    const { page } = workbench;
    await workbench.activity("Abey");
    await page
      .locator(".pane-body", { hasText: "which is not installed" })
      .getByText("Install the Daemon")
      .first()
      .waitFor();
    await workbench.shot("missing");
    await workbench.command("Abey: Start the Demo Agent");
    await workbench.toast("abey-daemon was not found").getByRole("button", { name: "Install…" }).click();
    await workbench.quick.getByText("From a wheel…").waitFor();
    await workbench.shot("install");
    await page.keyboard.press("Escape");
    // As uv and pipx do it
    mkdirSync(join(place.home, ".local/bin"), { recursive: true });
    symlinkSync(program(place), join(place.home, ".local/bin/abey-daemon"));
    await workbench.command("Abey: Start the Demo Agent");
    await workbench.row("shell: date").waitFor();
  });
});

test("a session is found by its words, driven in its row, and closed for good after a question", options, async () => {
  const elsewhere = (place: Desk["place"]): string => join(place.home, "other");
  const desk = await Desk.sit(async (place) => {
    mkdirSync(elsewhere(place));
    place.agent("short", asking({ text: "Done." }));
    place.agent("lasts", lasting({ text: "Done." }));
    await place.ask("agents/start", { agent: "short", prompt: "look for a needle", cwd: elsewhere(place) });
    await place.ask("agents/start", { agent: "lasts", prompt: "go on for long", cwd: place.work });
  });
  await desk.during(async ({ workbench, place }) => {
    const { page } = workbench;
    const now = async (agent: string) => (await place.ask("agents/sessions", { agent })).items[0];
    await workbench.activity("Abey");
    const needle = workbench.row("look for a needle").first();
    await needle.waitFor();
    assert.match(await needle.innerText(), /~\/other/);
    await workbench.inline(needle, "Run", async () => (await now("short"))?.turn?.end === "answered");

    const lasts = workbench.row("go on for long").first();
    await workbench.inline(lasts, "Run", () => workbench.status("Abey: running").isVisible());
    await workbench.inline(lasts, "Cancel", async () => (await now("lasts"))?.turn?.end === "cancelled");

    await workbench.command("Abey: Search Sessions…");
    await workbench.quick.locator("input").first().fill("needle");
    await workbench.quick.locator('[role="option"]').first().waitFor();
    await until("only that one", async () => (await workbench.quick.locator('[role="option"]').count()) === 1);
    await page.keyboard.press("Enter");
    await workbench.tab("look for a needle").waitFor();

    const close = async (): Promise<void> => {
      await workbench.menu("Close Session for Good…", () => needle.click({ button: "right", timeout: 1000 }));
      await workbench.pick("Close Session for Good…");
      await workbench.dialogs.getByText("Close “look for a needle” for good?").waitFor();
    };
    await close();
    await workbench.shot("close-for-good");
    await page.keyboard.press("Escape");
    await workbench.dialogs.waitFor({ state: "detached" });
    assert.equal((await now("short"))?.state, "completed");
    await close();
    await workbench.dialogs.getByRole("button", { name: "Close for Good" }).click();
    await until("it is closed", async () => (await now("short"))?.state === "stopped");
  });
});

test("a daemon that an update has left behind works on, and is offered to be restarted", options, async () => {
  const older = 'import sys, abey.shared.version as it; it.VERSION = "0.0.9"; from abey.daemon.main import main; sys.exit(main(sys.argv[1:]))';
  const desk = await Desk.sit(async (place) => {
    const [first = ""] = readFileSync(program(place), "utf8").split("\n", 1);
    place.agent("short", asking({ calls: [bash("date")] }, { text: "Done." }));
    place.env["ABEY_DAEMON"] = `${first.replace("#!", "").trim()} -P -c '${older}'`;
    await place.abey("rpc", "agents/status", "{}");
    delete place.env["ABEY_DAEMON"];
    await place.waiting("short");
  });
  await desk.during(async ({ workbench, place }) => {
    await workbench.status("Abey: 1 waiting").waitFor();
    const toast = workbench.toast(/is of build '0\.0\.9'/);
    await toast.waitFor();
    await workbench.shot("another-build");
    await toast.getByRole("button", { name: "Restart Daemon" }).click();
    await workbench.toast("the daemon is another one now").waitFor();
    assert.notEqual((await place.ask("agents/status", {})).daemon.buildId, "0.0.9");
    await workbench.status("Abey: 1 waiting").waitFor();
  });
});
