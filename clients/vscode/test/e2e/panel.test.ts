// The panel of a session in a real VS Code, with the real daemon.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame } from "playwright-core";
import type { Counts } from "../../src/core/page";
import { asking, bash, type Entry } from "../support/agents";
import { missing } from "../support/available";
import { Desk } from "../support/desk";
import { spread } from "../support/figures";
import { kept } from "../support/kept";
import { seeded } from "../support/seeded";
import { until } from "../support/until";
import { Watcher } from "../support/watcher";

const options = { skip: missing() ?? false, timeout: 600_000 };
const answer: Entry = { thinking: "It worked.", text: "# Done\n\nIt is **written**:\n\n- one\n- two\n\nSee [more](https://example.org/more).", chunkMs: 10 };
const script: readonly Entry[] = [
  { thinking: "First I look.", text: "I write it down.", calls: [bash("for i in 1 2 3; do echo line $i; done; until [ -e go.txt ]; do sleep 0.1; done; echo hi > seen.txt")], chunkMs: 10 },
  answer,
  { text: "word ".repeat(80), chunkMs: 60 },
  { text: "cut ".repeat(200), chunkMs: 60 },
  { text: "And on it goes.", chunkMs: 10 },
];
const streams: Entry = { text: Array.from({ length: 120 }, (_, n) => `word${n}`).join(" "), chunkMs: 40 };

/** A window that is loaded again takes its time on a busy machine. */
const afterReload = ({ workbench }: Desk, selector: string): Promise<Frame> =>
  until(`a page with ${selector} after a reload`, () => workbench.frame(selector).catch(() => undefined));

/** Until a notice with these words was there, for however short. */
const noticed = (frame: Frame, words: string): Promise<unknown> =>
  frame.evaluate(`new Promise((done) => {
    const look = () => ([...document.querySelectorAll(".notice")].some((each) => each.textContent.includes("${words}")) ? done() : requestAnimationFrame(look));
    look();
  })`);

const counts = (frame: Frame): Promise<Counts> => frame.evaluate<Counts>("window.abeyCounts");

async function panelOf({ workbench }: Desk, title: string): Promise<Frame> {
  await workbench.activity("Abey");
  await workbench.opens(workbench.row(title).first());
  await workbench.tab(title).waitFor();
  return workbench.frame(`h1:text-is("${title}")`);
}

test("a session in its panel", options, async (t) => {
  const desk = await Desk.sit((place) => place.agent("writer", asking(...script)), { size: { width: 1600, height: 900 } });
  const { workbench, place } = desk;
  await desk.during(async () => {
    const step = async (name: string, run: () => Promise<void>): Promise<void> => {
      await t.test(name, run);
      await workbench.shot(`panel-${name.replaceAll(/\W+/g, "-")}`);
    };
    const { sessionId } = await place.ask("agents/start", { agent: "writer", prompt: "Write it down", cwd: place.work });
    let frame = await panelOf(desk, "Write it down");

    await step("it is stepped, and the call waits on its card", async () => {
      await frame.getByRole("button", { name: "Step", exact: true }).click();
      await frame.locator(".status", { hasText: "ready to run" }).waitFor();
      await frame.getByRole("button", { name: "Step", exact: true }).click();
      await frame.locator("article.call.waits").waitFor();
    });

    await step("it is approved on its card, and prints while it runs", async () => {
      await frame.getByRole("button", { name: "Approve", exact: true }).click();
      await frame.locator('article.call[aria-busy="true"] .output', { hasText: "line 2" }).waitFor();
      place.file("go.txt", "");
      await frame.locator('article.call[data-state="completed"]').waitFor();
      assert.equal(place.read("seen.txt"), "hi\n");
    });

    await step("it is run, and the answer is Markdown", async () => {
      await frame.getByRole("button", { name: "Run", exact: true }).click();
      await frame.locator("article.answer h1", { hasText: "Done" }).waitFor();
      await frame.locator(".status", { hasText: "answered" }).waitFor();
      await frame.locator("article.thinking .head").last().click();
    });

    await step("input is sent with Enter, and the window is loaded again while the answer streams", async () => {
      const input = frame.getByLabel("Input for the session");
      await input.fill("And now at length");
      await input.press("Enter");
      await frame.locator("article.answer.streams").waitFor();
      await input.fill("not sent yet");
      await kept(workbench.page, "not sent yet");
      await workbench.reload();
      frame = await afterReload(desk, 'h1:text-is("Write it down")');
      await frame.locator("article.answer.streams, article.answer").last().waitFor();
      assert.equal(await frame.getByLabel("Input for the session").inputValue(), "not sent yet");
      await frame.locator(".status", { hasText: "turn 2 answered" }).waitFor();
    });

    await step("the daemon is killed while an answer streams, and all is there again", async () => {
      const input = frame.getByLabel("Input for the session");
      await input.fill("Be cut");
      await input.press("Enter");
      await frame.locator("article.answer.streams", { hasText: "cut cut" }).waitFor();
      await frame.getByLabel("Queue").check();
      await input.fill("after that");
      await input.press("Enter");
      await frame.locator(".queued li", { hasText: "after that" }).getByRole("button", { name: "Withdraw" }).click();
      await frame.locator(".queued li").waitFor({ state: "detached" });
      await frame.getByLabel("Send", { exact: true }).check();
      await input.fill("for later");
      const told = noticed(frame, "the daemon is gone");
      await place.kill();
      await told;
      await workbench.shot("panel-daemon-gone");
      await frame.locator(".notice", { hasText: "the daemon is gone" }).waitFor({ state: "detached" });
      await frame.locator("article.answer.streams").waitFor({ state: "detached" });
      assert.equal(await input.inputValue(), "for later");
      await input.fill("");
      if (!(await frame.locator(".status", { hasText: "answered" }).isVisible())) {
        await frame.getByRole("button", { name: "Run", exact: true }).click();
      }
      await frame.locator(".status", { hasText: "turn 3 answered" }).waitFor();
    });

    await step("it is forked from its beginning", async () => {
      await frame.locator("article.input").first().hover();
      await frame.locator("article.input .fork").first().click();
      await workbench.tab("Write it down (fork)").waitFor();
      const forked = await workbench.frame('h1:text-is("Write it down (fork)")');
      await forked.locator("article.input").waitFor();
      assert.equal(await forked.locator("article.answer").count(), 0);
    });

    await step("it is taken back", async () => {
      await workbench.tab(/^Write it down$|^Write it down, /).first().click();
      frame = await workbench.frame('h1:text-is("Write it down")');
      await frame.locator("article.input").first().hover();
      await frame.locator("article.input .rewind").first().click();
      await frame.getByRole("button", { name: "Rewind", exact: true }).first().click();
      await until("it is at its beginning", async () => (await place.ask("agents/get", { sessionId })).session.state === "userTurn");
      await frame.locator("article.answer").first().waitFor({ state: "detached" });
    });
  });
});

test("a session of 1,000 turns", options, async (t) => {
  const desk = await Desk.sit(async (place) => {
    place.agent("long", { ...asking(streams), model: { provider: "scripted", script: [streams], loop: true } });
    await seeded(place, "long", "A thousand turns", 1000);
  }, { settings: { "workbench.colorTheme": "Default Dark Modern" }, size: { width: 800, height: 900 } });
  const { workbench, place } = desk;
  await desk.during(async () => {
    await workbench.activity("Abey");
    await workbench.row("A thousand turns").first().waitFor();
    const began = performance.now();
    await workbench.opens(workbench.row("A thousand turns").first());
    const frame = await workbench.frame('article[data-id]:has-text("That is all of turn 1000")');
    t.diagnostic(`open: ${Math.round(performance.now() - began)} ms`);
    const opened = await counts(frame);
    assert.ok(opened.mostRendered <= 60 && opened.frames <= opened.paints && opened.fullRenders === 1, JSON.stringify(opened));
    await workbench.shot("panel-1000");

    const [session] = (await place.ask("agents/sessions", {})).items;
    assert.ok(session);
    const watcher = await Watcher.of(place, session.sessionId);
    await frame.evaluate(`{
      window.seen = [];
      const look = () => {
        const text = document.querySelector("article.answer.streams .prose")?.textContent.length ?? 0;
        if (text > (window.seen.at(-1)?.until ?? 0)) window.seen.push({ until: text, at: Date.now() });
        requestAnimationFrame(look);
      };
      look();
    }`);
    const input = frame.getByLabel("Input for the session");
    await input.fill("Go on");
    await input.press("Enter");
    await until("50 deltas", () => watcher.heard.length >= 50);
    const last = watcher.heard[49]?.until ?? 0;
    const seen = await until("they are on the screen", async () => {
      const all = await frame.evaluate<Watcher["heard"]>("window.seen");
      return all.some((each) => each.until >= last) ? all : undefined;
    });
    watcher.dispose();
    const took = watcher.heard.slice(0, 50).flatMap(({ until: end, at }) => {
      const there = seen.find((each) => each.until >= end);
      return there === undefined ? [] : [there.at - at];
    });
    assert.ok(took.length >= 45, `${took.length} were seen`);
    t.diagnostic(`delta to screen: ${spread(took)}`);
    const streamed = await counts(frame);
    assert.ok(streamed.mostRendered <= 60 && streamed.frames <= streamed.paints && streamed.fullRenders === 1, JSON.stringify(streamed));

    await frame.locator(".scroller").focus();
    await workbench.page.keyboard.press("Home");
    await frame.locator("article", { hasText: "What about part 1?" }).first().waitFor();
    for (let row = 0; row < 30; row += 1) {
      await workbench.page.keyboard.press("ArrowDown");
    }
    const at = await frame.locator("article:focus").getAttribute("data-id");
    await workbench.shot("panel-1000-beginning");
    // With the place what is written is kept
    await input.fill("not sent yet");
    await kept(workbench.page, "not sent yet");
    await workbench.reload();
    const again = await afterReload(desk, `article[data-id="${at}"]`);
    await again.locator(`article[data-id="${at}"]`).waitFor();
    const reloaded = await counts(again);
    assert.ok(reloaded.mostRendered <= 60 && reloaded.fullRenders === 1, JSON.stringify(reloaded));
    await workbench.shot("panel-1000-reloaded");
  });
});
