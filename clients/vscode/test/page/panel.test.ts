// The page of the panel in a real browser, without VS Code: what it draws, how often, and what its keys do.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Browser } from "playwright-core";
import { chromium } from "../support/available";
import { spread } from "../support/figures";
import { LongSession, session, turns } from "../support/long-session";
import { launch, open } from "../support/page";
import { until } from "../support/until";

const options = { skip: existsSync(chromium) ? false : `no Chromium at ${chromium}`, timeout: 120_000 };
let browser: Browser;
before(async () => {
  if (options.skip === false) {
    browser = await launch();
  }
});
after(() => browser?.close());

const at = "2026-11-29T18:21:14.510Z";
const pending = { token: "t", sessionId: "longsession", turnId: "now", callId: "c", kind: "approval", tool: "shell", title: "shell", arguments: { command: "rm -rf build\nmake all" }, argumentsHash: "h", editable: true, cwd: "/home/ada/project", reason: "approval required", suggestions: [], createdAt: at } as const;
const waiting = { itemId: "now.1", revision: 99, turnId: "now", at, kind: "toolCall", call: { callId: "c", tool: "shell", arguments: pending.arguments, state: "deferred", token: "t" } } as const;
const waits = session({ state: "partialUserTurn", turn: { turnId: "now", n: 7, startedAt: at }, pending: [pending] });

test("a session of 1,000 turns opens fast, and draws few rows once", options, async (t) => {
  const long = new LongSession(turns(1000));
  const { page, model, counts, reload } = await open(t, browser, long.daemon);
  const last = page.locator('article[data-id="step1000b.0"]');
  await last.waitFor();
  const opened = await counts();
  assert.ok(opened.mostRendered <= 60, `${opened.mostRendered} rows`);
  await page.locator(".scroller").focus();
  await page.keyboard.press("Home");
  await page.locator('article[aria-posinset="1"][aria-setsize="5000"]').waitFor();
  await page.locator("article", { hasText: "What about part 1?" }).first().waitFor();
  const now = await until("every frame is there", async () => {
    const seen = await counts();
    return seen.frames === model.counts.posts ? seen : undefined;
  });
  assert.deepEqual({ full: now.fullRenders, few: now.mostRendered <= 60 }, { full: 1, few: true });
  assert.ok(now.frames <= now.paints);
  const took: number[] = [];
  while (took.length < 50) {
    await page.evaluate("sessionStorage.clear()");
    const began = performance.now();
    await reload();
    await last.waitFor();
    took.push(performance.now() - began);
  }
  t.diagnostic(`to open: ${spread(took)}`);
});

test("what streams is seen at once", options, async (t) => {
  const long = new LongSession(turns(1000), session({ state: "userTurn" }));
  const { page, counts } = await open(t, browser, long.daemon);
  await page.locator("article.answer").last().waitFor();
  const before = await counts();
  const took: number[] = [];
  let text = "";
  for (let n = 0; n < 50; n += 1) {
    const piece = ` word${n}${n % 10 === 9 ? "\n\n" : ""}`;
    const began = performance.now();
    const seen = page.evaluate(`new Promise((done) => {
      const look = () => (document.querySelector(".feed").textContent.includes("word${n}") ? done() : requestAnimationFrame(look));
      look();
    })`);
    long.tell({ type: "item/delta", itemId: "now.0", kind: "answer", offset: text.length, text: piece }, true);
    text += piece;
    await seen;
    took.push(performance.now() - began);
  }
  t.diagnostic(`delta to screen: ${spread(took)}`);
  const now = await counts();
  assert.deepEqual({ full: now.fullRenders }, { full: 1 });
  // The row that streams, and at most what came into sight with it
  assert.ok(now.rowRenders - before.rowRenders <= 3);
  assert.ok(now.frames <= now.paints && now.mostRendered <= 60);
});

test("keys go from row to row, fold, and come back to the input", options, async (t) => {
  const long = new LongSession(turns(20));
  const { page } = await open(t, browser, long.daemon);
  const focused = (): Promise<string> => page.evaluate<string>("document.activeElement.dataset.id ?? document.activeElement.tagName");
  await page.locator("article.answer").last().waitFor();
  await page.locator("textarea").focus();
  await page.keyboard.press("ArrowUp");
  assert.equal(await focused(), "step20b.0");
  for (const key of ["ArrowUp", "k", "ArrowUp"]) {
    await page.keyboard.press(key);
  }
  assert.equal(await focused(), "step20a.0");
  const thought = page.locator('article[data-id="step20a.0"]');
  assert.equal(await thought.locator(".plain").isVisible(), false);
  await page.keyboard.press("Enter");
  await thought.locator(".plain").waitFor();
  await page.keyboard.press("Home");
  await until("the first row has the keyboard", async () => (await focused()) === "10.0");
  await page.keyboard.press("End");
  await until("the last row has it", async () => (await focused()) === "step20b.0");
  await page.keyboard.press("Escape");
  assert.equal(await focused(), "TEXTAREA");
});

test("the place is kept while older rows come, while others grow, and over a reload", options, async (t) => {
  const long = new LongSession(turns(300));
  const { page, reload, counts } = await open(t, browser, long.daemon);
  await page.locator("article.answer").last().waitFor();
  const top = (): Promise<{ id: string; top: number }> =>
    page.evaluate(`(() => {
      const scroller = document.querySelector(".scroller").getBoundingClientRect();
      const rows = [...document.querySelectorAll("article")].map((row) => ({ id: row.dataset.id, top: Math.round(row.getBoundingClientRect().top - scroller.top), bottom: row.getBoundingClientRect().bottom - scroller.top }));
      const { id, top } = rows.find((row) => row.bottom > 1);
      return { id, top };
    })()`);
  await page.locator(".scroller").hover();
  await until("older rows are there", async () => {
    await page.mouse.wheel(0, -400);
    return Number(await page.locator("article").first().getAttribute("aria-setsize")) > 100;
  });
  const before = await until("it stands still", async () => {
    const [one, two] = [await top(), (await page.waitForTimeout(200), await top())];
    return one.id === two.id && one.top === two.top ? two : undefined;
  });
  long.tell({ type: "item/delta", itemId: "now.0", kind: "answer", offset: 0, text: "more\n\n".repeat(30) }, true);
  await page.waitForTimeout(200);
  assert.deepEqual(await top(), before);
  await reload();
  await page.locator(`article[data-id="${before.id}"]`).waitFor();
  await until("it is where it was", async () => isDeepStrictEqual(await top(), before));
  assert.equal((await counts()).fullRenders, 1);
  await page.locator("button.jump").click();
  await page.locator('article[data-id="step300b.0"]').waitFor();
});

test("Enter sends, Shift+Enter does not, and what is refused comes back", options, async (t) => {
  const long = new LongSession(turns(2), waits);
  const { page, asked } = await open(t, browser, long.daemon);
  await page.locator("article").first().waitFor();
  const input = page.locator("textarea");
  await input.press("Enter");
  await input.pressSequentially("one");
  await input.press("Shift+Enter");
  await input.pressSequentially("two");
  await page.getByLabel("Interrupt").check();
  await input.press("Enter");
  const sent = await until("it is sent", () => asked.find((message) => message.kind === "send"));
  assert.deepEqual({ ...sent, inputId: "" }, { kind: "send", inputId: "", text: "one\ntwo", delivery: "interrupt", run: "turn" });
  assert.match(sent.kind === "send" ? sent.inputId : "", /^[0-9a-z]{26}$/);
  assert.equal(await input.inputValue(), "");
  long.refusing = true;
  await input.fill("three");
  await input.press("Enter");
  await page.locator(".composer .notice", { hasText: "256 inputs wait" }).waitFor();
  assert.equal(await input.inputValue(), "three");
  assert.equal(asked.filter((message) => message.kind === "send").length, 2);
});

test("a call is approved by its own button alone, and only once that stands still", options, async (t) => {
  const long = new LongSession([...turns(2), waiting], waits);
  const { page, asked } = await open(t, browser, long.daemon);
  const approve = page.getByRole("button", { name: "Approve and continue", exact: true });
  await approve.waitFor();
  await page.evaluate("[...document.querySelectorAll('.decide button')].forEach((each) => each.click())");
  assert.deepEqual(asked.filter(({ kind }) => kind === "approve" || kind === "deny"), []);
  await page.locator('article[data-id="now.1"]').focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  assert.deepEqual(asked.filter(({ kind }) => kind === "approve" || kind === "deny"), []);
  await approve.scrollIntoViewIfNeeded();
  const isApproved = () => asked.find(({ kind }) => kind === "approve");
  const approved = await until("it is approved", async () => isApproved() ?? (await approve.click({ timeout: 1000 }).catch(() => undefined), undefined)); // on what moves meanwhile it does nothing
  assert.deepEqual(approved, { kind: "approve", token: "t", argumentsHash: "h", resume: true });
});

test("the other way of an approval is in the menu of its button", options, async (t) => {
  const long = new LongSession([...turns(2), waiting], waits);
  const { page, asked } = await open(t, browser, long.daemon);
  const other = page.getByRole("button", { name: "Approve", exact: true });
  await page.getByRole("button", { name: "Approve and continue", exact: true }).waitFor();
  assert.equal(await other.isVisible(), false);
  await page.getByLabel("Besides Approve and continue").click();
  await other.click();
  const approve = { kind: "approve", token: "t", argumentsHash: "h", resume: false };
  assert.deepEqual(await until("it is approved", () => asked.find(({ kind }) => kind === "approve")), approve);
});

test("a session is forked and taken back at every row but a note, and what stays is said before", options, async (t) => {
  const note = { itemId: "n.0", revision: 27, turnId: "turn2", at, kind: "note", text: "mended" } as const;
  const long = new LongSession([...turns(2), note]);
  const { page, asked } = await open(t, browser, long.daemon);
  await page.locator("article.note").waitFor();
  const offered = await page.evaluate(`[...document.querySelectorAll("article")].slice(-6).map((each) =>
    [each.dataset.id, ...[...each.querySelectorAll(".way")].map((way) => way.querySelector(".from").textContent)])`);
  assert.deepEqual(offered, [
    ["20.0", ""],
    ["step2a.0", "after its answer"],
    ["step2a.1", ""],
    ["step2a.2"],
    ["step2b.0", ""],
    ["n.0"],
  ]);
  const card = page.locator('article[data-id="step2a.2"]');
  await card.locator(".head").click();
  assert.deepEqual(await card.locator(".from").allTextContents(), ["before it ran", "after the results"]);
  await card.locator(".fork").nth(1).click();
  await card.locator(".rewind").nth(1).click();
  const sure = "What comes after this leaves the timeline. Files stay as they are, and you can go back.";
  assert.equal(await card.locator(".ways.sure > span").textContent(), sure);
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Keep");
  await card.getByRole("button", { name: "Rewind", exact: true }).click();
  await card.locator(".rewind").first().click();
  await card.getByRole("button", { name: "Keep", exact: true }).click();
  await card.locator(".fork").first().click();
  assert.deepEqual(await until("all are asked", () => (asked.filter(({ kind }) => kind === "fork").length === 2 ? asked.filter(({ kind }) => kind === "fork" || kind === "rewind") : undefined)), [
    { kind: "fork", at: { resultsOf: "call2" } },
    { kind: "rewind", to: { resultsOf: "call2" } },
    { kind: "fork", at: { revision: 22 } },
  ]);
});

test("what a row offers lies over nothing of any row", options, async (t) => {
  const long = new LongSession(turns(3));
  const { page } = await open(t, browser, long.daemon);
  await page.locator('article[data-id="step3b.0"]').waitFor();
  for (const id of ["30.0", "step3a.0", "step3a.1", "step3b.0"]) {
    await page.locator(`article[data-id="${id}"]`).hover();
    await page.locator(`article[data-id="${id}"] > .ways`).locator(".fork").waitFor();
    const covered = await page.evaluate(`(() => {
      const offered = document.querySelector('article[data-id="${id}"] > .ways').getBoundingClientRect();
      const others = [...document.querySelectorAll("article > :not(.ways)")].filter((each) => each.checkVisibility());
      return others.filter((each) => {
        const { top, bottom } = each.getBoundingClientRect();
        return top < offered.bottom - 0.5 && bottom > offered.top + 0.5;
      }).map((each) => each.outerHTML);
    })()`);
    assert.deepEqual(covered, [], id);
  }
});

test("a card has both texts of a call whose arguments a person changed", options, async (t) => {
  const decision = { by: "ada", client: { id: "1", name: "ada", kind: "vscode" }, at, edited: true };
  const call = { ...waiting.call, state: "completed", decision, startedAt: at, endedAt: "2026-11-29T18:22:38.010Z", effectiveArguments: { command: "make all" }, output: "built" };
  const long = new LongSession([...turns(1), { ...waiting, call }]);
  const { page } = await open(t, browser, long.daemon);
  await page.locator('article[data-id="now.1"] .head').click();
  const card = page.locator('article[data-id="now.1"] .body');
  assert.deepEqual(await card.locator("pre.arguments").allTextContents(), ["make all", "rm -rf build\nmake all"]);
  assert.deepEqual(await card.locator(".hint").allTextContents(), ["proposed were", "approved with other arguments by ada (vscode)"]);
  assert.equal(await page.locator('article[data-id="now.1"] .took').textContent(), "1 min 23 s");
});

test("inputs that wait are listed with how they go in, and withdrawn", options, async (t) => {
  const queued = [{ inputId: "i", delivery: "interrupt" }, { inputId: "j", delivery: "queue" }] as const;
  const long = new LongSession(turns(1), { ...waits, queued });
  long.queuedTexts = { i: "first of all", j: "after that" };
  const { page, asked } = await open(t, browser, long.daemon);
  await page.locator(".queued li", { hasText: "after that" }).waitFor();
  assert.deepEqual(await page.locator(".queued li").allInnerTexts(), ["Before the next step:\nfirst of all\nWithdraw", "Queued:\nafter that\nWithdraw"]);
  await page.locator(".queued li", { hasText: "first of all" }).getByRole("button", { name: "Withdraw" }).click();
  assert.deepEqual(await until("it is withdrawn", () => asked.find(({ kind }) => kind === "withdraw")), { kind: "withdraw", inputId: "i" });
});

test("a child and the session that it works for lead to each other", options, async (t) => {
  const child = { ...waiting, call: { ...waiting.call, tool: "ask_helper", state: "running", startedAt: at, childId: "below" } };
  const long = new LongSession([...turns(1), child], session({ parent: "above", state: "partialUserTurn" }));
  const { page, opened } = await open(t, browser, long.daemon);
  await page.getByRole("button", { name: "Open the session that it works for" }).click();
  await page.getByRole("button", { name: "Open the session that works on it" }).click();
  assert.deepEqual(await until("both are opened", () => (opened.length === 2 ? opened : undefined)), ["session above", "session below"]);
});

test("nothing that was written by others acts", options, async (t) => {
  const text = '<img src=x onerror="window.hit=1"><script>window.hit=1</script> [a](javascript:window.hit=1) [b](command:abey.approve) [c](https://example.org/c) ![d](https://example.org/d.png) \u202egnp.exe';
  const bad = { ...waiting, call: { ...waiting.call, tool: "<b>sh</b>", arguments: { command: text }, output: text, state: "completed" } };
  const long = new LongSession([
    { itemId: "1.0", revision: 1, turnId: "now", at, kind: "input", parts: [{ kind: "text", text }] },
    { itemId: "s.0", revision: 2, turnId: "now", at, kind: "answer", text },
    bad,
  ]);
  const { page, opened } = await open(t, browser, long.daemon);
  await page.locator("article.call .head").click();
  assert.equal(await page.evaluate("window.hit"), undefined);
  assert.deepEqual(await page.evaluate("[...document.querySelectorAll('article a, article img, article script, article b')].map((each) => each.outerHTML)"), [
    '<a href="https://example.org/c" title="https://example.org/c" rel="noreferrer">c</a>',
    '<a href="https://example.org/d.png" title="https://example.org/d.png" rel="noreferrer">[image: d]</a>',
  ]);
  assert.equal(((await page.textContent(".feed")) ?? "").includes("\u202e"), false);
  await page.locator("article.answer a", { hasText: "c" }).first().click();
  await until("it is opened", () => opened[0]);
  assert.deepEqual([opened, page.url().startsWith("http://127.0.0.1")], [["link https://example.org/c"], true]);
});

test("what is seen whole offers no way to the end, and the page itself never scrolls", options, async (t) => {
  const long = new LongSession(turns(1));
  const { page } = await open(t, browser, long.daemon);
  await page.locator("article.answer").last().waitFor();
  await page.locator(".scroller").focus();
  await page.keyboard.press("Home");
  await until("the first row has the keyboard", async () => (await page.locator("article:focus").getAttribute("data-id")) === "10.0");
  assert.equal(await page.locator("button.jump").isVisible(), false);
  await page.evaluate("[document.body, document.documentElement].forEach((each) => each.scrollBy(0, 50))");
  assert.deepEqual(await page.evaluate("[document.body.scrollTop, document.documentElement.scrollTop, document.body.scrollHeight - document.body.clientHeight]"), [0, 0, 0]);
});

test("every control has a name", options, async (t) => {
  const long = new LongSession([...turns(2), waiting], waits);
  const { page } = await open(t, browser, long.daemon);
  await page.locator(".decide").waitFor();
  const nameless = await page.evaluate(`[...document.querySelectorAll("button, textarea, select, input, article, [role]")]
    .filter((each) => !each.hidden && !(each.textContent.trim() || each.ariaLabel || each.labels?.length || each.role === "status"))
    .map((each) => each.outerHTML)`);
  assert.deepEqual(nameless, []);
  assert.deepEqual(
    await page.evaluate("[...document.querySelectorAll('[role=feed] > article')].map((each) => each.ariaPosInSet + '/' + each.ariaSetSize).slice(0, 2)"),
    ["1/11", "2/11"],
  );
});

test("the looks of it", { skip: process.env["ABEY_SHOTS"] === undefined }, async (t) => {
  const started = new Date(Date.now() - 83_000).toISOString();
  const running = { ...waiting, itemId: "now.2", call: { callId: "r", tool: "run_tests", arguments: { paths: ["tests/a.py"], fast: true }, state: "running", startedAt: started } };
  const lastError = { kind: "model/transient", message: "the script says transient", at };
  const long = new LongSession([...turns(6), waiting, running], { ...waits, queued: [{ inputId: "i", delivery: "queue" }], lastError });
  for (const [theme, width] of [["dark", 800], ["light", 1600], ["contrast", 800], ["light", 800], ["dark", 1600]] as const) {
    const { page } = await open(t, browser, long.daemon, { theme, width, height: 900 });
    await page.locator("article.answer").last().waitFor();
    long.tell({ type: "tool/progress", callId: "r", offset: 0, text: "collected 12 items\ntests/a.py ....\n" }, true);
    long.tell({ type: "item/delta", itemId: "now.9", kind: "answer", offset: 0, text: "## So far\n\n| file | state |\n|---|---|\n| a.py | **ok** |\n\nand `more` to" }, true);
    await page.locator("td", { hasText: "a.py" }).waitFor();
    await page.screenshot({ path: `${process.env["ABEY_SHOTS"]}/panel-${theme}-${width}.png` });
    await page.locator("article.thinking .head").last().click();
    await page.locator('article.call:not(.waits) .head').nth(-2).click();
    await page.locator("article.input").last().hover();
    await page.locator("article.input .rewind").last().click();
    await page.getByLabel("Besides Approve and continue").click();
    await page.screenshot({ path: `${process.env["ABEY_SHOTS"]}/panel-${theme}-${width}-open.png` });
  }
});
