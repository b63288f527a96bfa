// A word of a line in an editor: where it is in the page, and whether it is selected.
import type { Locator, Page } from "playwright-core";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The middle of a word, in one look: a line is drawn anew once its language is there. */
export function middleOf(line: Locator, word: string): Promise<Point> {
  return line.evaluate<Point, string>((element, wanted) => {
    const page = element.ownerDocument;
    const texts = page.createTreeWalker(element, page.defaultView.NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      const at = text.data.indexOf(wanted);
      if (at >= 0) {
        const range = page.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + wanted.length);
        const { left, right, top, bottom } = range.getBoundingClientRect();
        return { x: (left + right) / 2, y: (top + bottom) / 2 };
      }
    }
    throw new Error(`not in this line: ${wanted}`);
  }, word);
}

/** Whether a point is in what is selected in an editor. */
export function isSelected(page: Page, { x, y }: Point): Promise<boolean> {
  return page.evaluate<boolean>(`[...document.querySelectorAll(".monaco-editor .selected-text")].some((each) => {
    const { left, right, top, bottom } = each.getBoundingClientRect();
    return left < ${x} && ${x} < right && top < ${y} && ${y} < bottom;
  })`);
}
