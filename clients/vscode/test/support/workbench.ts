// The workbench as a person finds it: by what is written on it, with the mouse and the keyboard.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Frame, Locator, Page } from "playwright-core";
import { until } from "./until";
import { isSelected, middleOf } from "./word";

/** Themes of VS Code's own, and the class of a window that has one. */
const looks = {
  contrast: { theme: "Default High Contrast", shown: "hc-black" },
  light: { theme: "Default Light Modern", shown: "vs" },
  dark: { theme: "Default Dark Modern", shown: "vs-dark" },
} as const;
const widths = [800, 1600] as const;

export class Workbench {
  private shots = 0;

  constructor(
    readonly page: Page,
    /** Changes the settings of the window. */
    private readonly set: (changed: Readonly<Record<string, unknown>>) => void,
    /** Where screenshots are kept. */
    private readonly gallery: string | undefined = process.env["ABEY_SHOTS"],
    /** Whether each is made in every theme and width, for somebody who looks at them. */
    private readonly everyLook = process.env["ABEY_LOOKS"] !== undefined,
  ) {}

  async open(url: string): Promise<void> {
    await this.page.goto(url, { waitUntil: "domcontentloaded" });
    await this.ready();
  }

  async reload(): Promise<void> {
    await this.page.reload({ waitUntil: "domcontentloaded" });
    await this.ready();
  }

  async shot(name: string): Promise<void> {
    this.shots += 1;
    if (this.gallery === undefined) {
      return;
    }
    mkdirSync(this.gallery, { recursive: true });
    const path = join(this.gallery, `${String(this.shots).padStart(2, "0")}-${name}`);
    await (this.everyLook ? this.looks(path) : this.page.screenshot({ path: `${path}.png` }));
  }

  /** In the last theme and at the width of the window it goes on. */
  private async looks(path: string): Promise<void> {
    const before = this.page.viewportSize();
    for (const [look, { theme, shown }] of Object.entries(looks)) {
      this.set({ "workbench.colorTheme": theme });
      await this.page.locator(`.monaco-workbench.${shown}`).waitFor();
      for (const width of widths) {
        await this.page.setViewportSize({ width, height: 900 });
        // What VS Code lays out anew, and fades in
        await this.page.waitForTimeout(300);
        await this.page.screenshot({ path: `${path}-${look}-${width}.png` });
      }
    }
    if (before !== null) {
      await this.page.setViewportSize(before);
    }
  }

  get quick(): Locator {
    return this.page.locator(".quick-input-widget:visible");
  }

  status(text: string | RegExp): Locator {
    return this.page.locator(".part.statusbar .statusbar-item", { hasText: text });
  }

  toast(text: string | RegExp): Locator {
    return this.page.locator(".notification-toast", { hasText: text });
  }

  row(text: string | RegExp): Locator {
    return this.page.locator('.pane-body [role="treeitem"]', { hasText: text });
  }

  async choose(text: string | RegExp): Promise<void> {
    await this.opens(this.row(text).first());
  }

  /** Clicks a row, again where the rows were drawn anew under the click, until another tab is in front. */
  async opens(row: Locator): Promise<void> {
    await row.waitFor();
    const before = await this.front();
    await until("another tab in front", async () => {
      await row.click({ timeout: 1000 }).catch(() => undefined);
      return until("it", async () => (await this.front()) !== before, 2000).catch(() => undefined);
    });
  }

  private async front(): Promise<string> {
    return (await this.page.locator(".tabs-container .tab.active").allInnerTexts()).join();
  }

  tab(text: string | RegExp): Locator {
    return this.page.locator(".tabs-container .tab", { hasText: text });
  }

  /** What is open, by its words, in every group. */
  tabs(): Promise<readonly string[]> {
    return this.page.locator(".tabs-container .tab .label-name").allInnerTexts();
  }

  /** What can be clicked in the title bar of the editor in front, by its words. */
  title(label: string): Locator {
    return this.page.locator(".editor-group-container.active .editor-actions").getByLabel(label, { exact: true });
  }

  /** Clicks there once the editor in front has been there long enough to be seen, until `came` is so. */
  async decide(label: string, came: () => unknown): Promise<void> {
    await this.title(label).waitFor();
    await this.seen(label, () => this.title(label).click({ timeout: 1000 }), came);
  }

  /** From the menu of the title bar of the editor in front, until `came` is so. */
  async more(label: string, came: () => unknown): Promise<void> {
    const open = (): Promise<void> => this.title("More Actions...").click({ timeout: 1000 });
    await this.seen(label, () => this.menu(label, open).then(() => this.pick(label)), came);
  }

  /** Since when an editor is in front is the extension's word, and it may have heard of that late. */
  private async seen(label: string, click: () => Promise<void>, came: () => unknown): Promise<void> {
    await until(`what ${label} does`, async () => {
      await this.page.waitForTimeout(600);
      await click().catch(() => undefined);
      return until(label, came, 5000).catch(() => undefined);
    });
  }

  /** Until the menu is there that `open` opens and that has this label. */
  async menu(label: string, open: () => Promise<unknown>): Promise<void> {
    await until(`a menu with ${label}`, async () => {
      await open().catch(() => undefined);
      const there = await this.item(label).waitFor({ timeout: 2000 }).then(() => true, () => false);
      // One that has opened before its commands were there
      await (there || this.page.keyboard.press("Escape"));
      return there;
    });
  }

  /** From the menu that is open. It takes no click while it opens, for the one that opened it might be that one. */
  async pick(label: string): Promise<void> {
    const item = this.item(label);
    await item.waitFor();
    await until(`the menu has taken ${label}`, async () => {
      await item.click({ timeout: 1000 }).catch(() => undefined);
      return item.waitFor({ state: "detached", timeout: 1000 }).then(() => true, () => false);
    });
  }

  /** A button of a page, once it can be pressed. */
  async press(frame: Frame, label: string): Promise<void> {
    await frame.getByRole("button", { name: label, exact: true }).click();
  }

  /** The page of the review in front. */
  async review(text: string): Promise<Frame> {
    return until(`a review with ${text}`, () => this.reviewed(text));
  }

  /** That page, where it is there by now. */
  async reviewed(text: string): Promise<Frame | undefined> {
    for (const frame of this.page.frames()) {
      const shown = frame.locator("main > .block pre", { hasText: text }).first();
      if (await shown.isVisible().catch(() => false)) {
        return frame;
      }
    }
    return undefined;
  }

  /** Until what was answered is no row and no tab any more. */
  async answered(text: string): Promise<void> {
    await this.row(text).first().waitFor({ state: "detached" });
    await this.tab(text).first().waitFor({ state: "detached" });
  }

  get dialogs(): Locator {
    return this.page.locator(".monaco-dialog-box");
  }

  async activity(label: string): Promise<void> {
    const item = this.container(label);
    const opened = item.and(this.page.locator('[aria-expanded="true"]'));
    await until(`${label} in the side bar`, async () => {
      if ((await item.getAttribute("aria-expanded")) !== "true") {
        await item.click();
      }
      return opened.waitFor({ timeout: 5000 }).then(() => true, () => false);
    });
  }

  async badge(label: string): Promise<string> {
    const badge = this.container(label).locator(".badge-content").filter({ visible: true });
    return (await badge.allTextContents())[0] ?? ""; // one look: what is there may be gone a moment later
  }

  /** Clicks there, again where the rows were drawn anew under the click, until `came` is so. */
  async inline(row: Locator, label: string, came: () => Promise<unknown>): Promise<void> {
    const quick = { timeout: 1000 };
    await until(`what ${label} does`, async () => {
      await row.hover(quick).catch(() => undefined);
      await row.locator(`.actions a.action-label[aria-label^="${label}"]`).click(quick).catch(() => undefined);
      return until(label, came, 2000).catch(() => undefined);
    });
  }

  /** By the palette, with the keyboard alone. */
  async command(title: string): Promise<void> {
    // It lists what there was when it was opened, and closes where something else takes the keyboard
    await until(`${title} in the palette`, async () => {
      await this.page.keyboard.press("Escape");
      await this.page.keyboard.press("F1");
      return this.focused(title).catch(() => false);
    });
    await this.page.keyboard.press("Enter");
  }

  /** Whether a command is now the one that the palette would run. */
  private async focused(title: string): Promise<boolean> {
    const quick = { timeout: 2000 };
    await this.quick.locator("input").first().fill(`>${title}`, quick);
    await this.quick.locator(`[role="option"][aria-label="${title}"], [role="option"][aria-label^="${title},"]`).first().waitFor(quick);
    // The best match is not always in the first row
    for (let row = 0; row < 20; row += 1) {
      const label = await this.quick.locator(".monaco-list-row.focused").getAttribute("aria-label", quick);
      if (label === title || label?.startsWith(`${title},`)) {
        return true;
      }
      await this.page.keyboard.press("ArrowDown");
    }
    return false;
  }

  async answer(text: string): Promise<void> {
    await this.quick.locator("input").first().fill(text);
    await this.page.keyboard.press("Enter");
  }

  /** One of those that are offered, which are there later than the list. */
  async pickOne(label: string): Promise<void> {
    await this.quick.locator("input").first().fill(label);
    await this.quick.getByRole("option", { name: new RegExp(`^${label}`) }).first().waitFor();
    await this.page.keyboard.press("Enter");
  }

  /** Selects a word of a line in an editor, as a double click does. */
  async word(line: Locator, word: string): Promise<void> {
    await until(`${word} is selected`, async () => {
      const at = await middleOf(line, word);
      await this.page.mouse.dblclick(at.x, at.y);
      return until("it", () => isSelected(this.page, at), 2000).catch(() => undefined);
    });
  }

  /** Opens a file of the workspace. */
  async file(name: string): Promise<void> {
    await this.page.keyboard.press("Control+P");
    await this.quick.locator("input").first().fill(name);
    await this.quick.locator('[role="option"]', { hasText: name }).first().waitFor();
    await this.page.keyboard.press("Enter");
    await this.tab(name).waitFor();
  }

  /** The page of a webview, by something in it. */
  async frame(selector: string): Promise<Frame> {
    return until(`a page with ${selector}`, async () => {
      for (const frame of this.page.frames()) {
        if (frame !== this.page.mainFrame() && (await frame.locator(selector).count().catch(() => 0)) > 0) {
          return frame;
        }
      }
      return undefined;
    });
  }

  private item(label: string): Locator {
    return this.page.locator(".monaco-menu").getByRole("menuitem", { name: label, exact: true });
  }

  private container(label: string): Locator {
    return this.page.locator(".activitybar .action-item", { has: this.page.locator(`a.action-label[aria-label^="${label}"]`) });
  }

  private async ready(): Promise<void> {
    await this.page.locator(".monaco-workbench .part.statusbar").waitFor();
  }
}
