// Somebody at work: a machine, a VS Code on it with the packed extension, and a browser that shows it.
import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import { Browser, type Size } from "./browser";
import { Code } from "./code";
import { Place } from "./place";
import { until } from "./until";
import { Workbench } from "./workbench";

export interface DeskOptions {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly size?: Size;
}

export class Desk {
  private constructor(
    readonly place: Place,
    readonly code: Code,
    readonly browser: Browser,
    readonly workbench: Workbench,
  ) {}

  /** `prepare` puts into the folders what is there before the editor starts. */
  static async sit(prepare: (place: Place) => unknown, options: DeskOptions = {}): Promise<Desk> {
    const place = new Place();
    const opened: (() => Promise<void>)[] = [() => place.dispose()];
    const vsix = resolve(process.env["ABEY_VSIX"] ?? "abey.vsix");
    try {
      await prepare(place);
      const code = await Code.start(place, { vsix, settings: options.settings ?? {} });
      opened.unshift(() => code.stop());
      const browser = await Browser.open(place, options.size);
      opened.unshift(() => browser.close());
      const desk = new Desk(place, code, browser, new Workbench(browser.page, (changed) => code.set(changed)));
      await desk.workbench.open(code.url(place.work));
      return desk;
    } catch (problem) {
      // What is left running would keep the tests from ending
      for (const close of opened) {
        await close();
      }
      throw problem;
    }
  }

  /** Another window, of another folder on the same machine. */
  async window(folder: string): Promise<Workbench> {
    const page = await this.browser.context.newPage();
    const workbench = new Workbench(page, (changed) => this.code.set(changed));
    await workbench.open(this.code.url(folder));
    return workbench;
  }

  /**
   * Opens the folders that a `.code-workspace` names. VS Code reads such a file, and at the same time what it has kept of
   * it. Where that is nothing and both end together, the window stays without folders: the second one is sure of them.
   */
  async folders(path: string): Promise<void> {
    const url = this.code.workspace(path);
    await this.workbench.open(url);
    await until(`VS Code keeps what it read in ${path}`, () => this.code.keepsWorkspace());
    await this.workbench.open(url);
  }

  /** Runs a test, keeps what was on the screen if it fails, and leaves nothing running. */
  async during(test: (desk: Desk) => Promise<void>): Promise<void> {
    try {
      await test(this);
      assert.deepEqual(this.browser.foreign, []);
    } catch (problem) {
      const path = join(process.env["ABEY_SHOTS"] ?? "out/failed", `failed-${Date.now()}.png`);
      await this.browser.page.screenshot({ path }).catch(() => undefined);
      console.log(`${path}\n${this.code.said()}`);
      throw problem;
    } finally {
      await this.leave();
    }
  }

  private async leave(): Promise<void> {
    await this.browser.close();
    await this.code.stop();
    await this.place.dispose();
  }
}
