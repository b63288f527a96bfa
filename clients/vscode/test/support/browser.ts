// A headless Chromium that reaches nothing but this machine, and notes whoever else it was to ask.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium as engine, type BrowserContext, type Page } from "playwright-core";
import { chromium } from "./available";
import type { Place } from "./place";
import { patienceMs } from "./until";

export interface Size {
  readonly width: number;
  readonly height: number;
}

export class Browser {
  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    /** What was asked of others than this machine: has to stay empty. */
    readonly foreign: readonly string[],
  ) {}

  static async open(place: Place, size: Size = { width: 1280, height: 800 }): Promise<Browser> {
    const profile = join(place.root, "chromium");
    mkdirSync(profile, { recursive: true });
    const context = await engine.launchPersistentContext(profile, {
      executablePath: chromium,
      headless: true,
      viewport: size,
      reducedMotion: "reduce",
      permissions: ["clipboard-read", "clipboard-write"],
      args: [
        ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync", "--no-proxy-server"],
        ...["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"],
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
      ],
    });
    const foreign: string[] = [];
    context.on("request", (request) => {
      const { hostname } = new URL(request.url());
      // Of a webview's own files, which its service worker hands out: there is no such host
      const ours = hostname.endsWith(".vscode-resource.vscode-cdn.net");
      if (!ours && !/^(127\.0\.0\.1|localhost|)$/.test(hostname)) {
        foreign.push(request.url());
      }
    });
    const page = context.pages()[0] ?? (await context.newPage());
    context.setDefaultTimeout(patienceMs);
    return new Browser(context, page, foreign);
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}
