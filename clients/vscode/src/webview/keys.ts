// The keyboard in the timeline: up and down from row to row, Enter folds, Escape goes to the input.
import type { List } from "./list";

/** `all` asks for what is before the first row. */
export function listen(list: List, input: HTMLTextAreaElement, all: () => void): void {
  const moves: Readonly<Record<string, () => void>> = {
    ArrowDown: () => list.go(1),
    ArrowUp: () => list.go(-1),
    j: () => list.go(1),
    k: () => list.go(-1),
    Home: () => (all(), list.goToStart()),
    End: () => list.goToEnd(),
    Escape: () => input.focus({ preventScroll: true }),
  };
  list.scroller.addEventListener("keydown", (event) => {
    const { target, key } = event;
    const onRow = target === list.scroller || (target instanceof HTMLElement && target.matches("article"));
    const move = moves[key];
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (onRow && (key === "Enter" || key === " ")) {
      event.preventDefault();
      list.toggle();
    } else if (move !== undefined && (onRow || key === "Escape" || isHead(target))) {
      event.preventDefault();
      move();
    }
  });
  list.scroller.addEventListener("focusin", ({ target }) => {
    const row = target instanceof Element ? target.closest<HTMLElement>("article") : null;
    list.current = row?.dataset["id"] ?? list.current;
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowUp" && input.value === "") {
      event.preventDefault();
      list.goToEnd();
    }
  });
}

function isHead(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("button.head");
}
