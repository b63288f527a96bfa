// What a person did in a page: every click, by what is written there, and every text that was typed.
import type { Page } from "playwright-core";

/** Tells of what comes from a mouse and a keyboard, and not from a script. */
const listen = `{
  const named = "a, button, summary, [role=button], [role=treeitem], [role=tab]";
  const label = (at) => (at.getAttribute("aria-label") || at.textContent || "").trim();
  const where = (at) => at.closest(".editor.modified") ? "the right editor" : label(at.closest(named) ?? at);
  const click = (event) => event.isTrusted && tellInput("click", where(event.target));
  const key = (event) => event.isTrusted && tellInput("key", event.key);
  const look = () => {
    addEventListener("pointerdown", click, true);
    addEventListener("keydown", key, true);
  };
  look();
  // The page of a webview is written anew, which ends who listens there
  setInterval(look, 50);
}`;

export interface Input {
  readonly kind: "click" | "type";
  readonly what: string;
}

export class Inputs {
  readonly all: Input[] = [];

  /** Of the page and the pages in it, also after it was loaded again. */
  static async of(page: Page): Promise<Inputs> {
    const inputs = new Inputs();
    await page.exposeFunction("tellInput", (kind: "click" | "key", what: string) => inputs.add(kind, what));
    await page.addInitScript(listen);
    return inputs;
  }

  private add(kind: "click" | "key", what: string): void {
    const last = this.all.at(-1);
    if (kind === "key" && last?.kind === "type") {
      this.all.splice(-1, 1, { kind: "type", what: last.what + what });
    } else {
      this.all.push({ kind: kind === "key" ? "type" : kind, what });
    }
  }
}
