// The page of the panel in a real browser, with its panel here and a daemon that a test plays.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";
import { Followings } from "../../src/core/following";
import type { Counts, FromPage } from "../../src/core/page";
import type { Surroundings } from "../../src/core/panel-actions";
import { PanelModel } from "../../src/core/panel-model";
import { pageOf } from "../../src/panel/html";
import { chromium as executablePath } from "./available";
import { sessionId } from "./long-session";
import type { FakeDaemon } from "./fake-daemon";
import { themes, type Theme } from "./themes";

export interface Opened {
  readonly page: Page;
  readonly model: PanelModel;
  readonly asked: FromPage[];
  readonly opened: string[];
  counts(): Promise<Counts>;
  /** As a reload of the window: another page and another panel, with what the page has kept. */
  reload(): Promise<void>;
}

export interface Looks {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: Theme;
}

/** What VS Code gives a page. Its policy forbids the attribute `style`, so that colours are set one by one. */
const host = `(colours) => {
  document.addEventListener("DOMContentLoaded", () => {
    for (const [name, colour] of colours.split(";").map((each) => each.split(": "))) {
      document.documentElement.style.setProperty(name.trim(), colour ?? "");
    }
  });
  window.acquireVsCodeApi = () => ({
    postMessage: (message) => window.toPanel(message),
    getState: () => JSON.parse(sessionStorage.getItem("state") ?? "null") ?? undefined,
    setState: (state) => sessionStorage.setItem("state", JSON.stringify(state)),
  });
}`;

const dist = process.env["ABEY_DIST"] ?? "dist";

export async function launch(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

/** It is closed when the test has ended, well or not. */
export async function open(t: TestContext, browser: Browser, daemon: FakeDaemon, { width = 1000, height = 800, theme = "dark" }: Looks = {}): Promise<Opened> {
  const server = createServer(({ url = "" }, reply) => {
    if (url === "/") {
      reply.setHeader("content-type", "text/html").end(pageOf({ script: "/main.js", style: "/panel.css", sessionId }, "'self'"));
      return;
    }
    reply.setHeader("content-type", url.endsWith(".css") ? "text/css" : "text/javascript").end(readFileSync(`${dist}/webview${url}`));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const page = await browser.newPage({ viewport: { width, height }, reducedMotion: "reduce" });
  const asked: FromPage[] = [];
  const opened: string[] = [];
  const around: Surroundings = {
    post: (frame) => void page.evaluate(`window.postMessage(${JSON.stringify(frame)})`).catch(() => undefined),
    openReview: (token) => opened.push(`review ${token}`),
    openSession: (id) => opened.push(`session ${id}`),
    openOutput: (callId) => opened.push(`output ${callId}`),
    keep: () => undefined,
    titled: () => undefined,
    openLink: (href) => opened.push(`link ${href}`),
  };
  const panel = { model: new PanelModel(daemon, new Followings(daemon), sessionId, around) };
  t.after(async () => {
    panel.model.dispose();
    await page.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  await page.exposeFunction("toPanel", (message: FromPage) => {
    asked.push(message);
    panel.model.receive(message);
  });
  await page.addInitScript(`(${host})(${JSON.stringify(themes[theme])})`);
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return {
    page,
    get model() {
      return panel.model;
    },
    asked,
    opened,
    counts: () => page.evaluate<Counts>("window.abeyCounts"),
    async reload() {
      panel.model.dispose();
      panel.model = new PanelModel(daemon, new Followings(daemon), sessionId, around);
      await page.reload();
    },
  };
}
