// What VS Code has written down of a window, to be there again when that is loaded again.
import type { Page } from "playwright-core";
import { until } from "./until";

/** In the page: what the browser keeps of the editors of a window's one group, of the one in front first. */
const editorsKept = `(async () => {
  const asked = (request) => new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });
  const all = (await indexedDB.databases()).filter(({ name }) => name.startsWith("vscode-web-state-db-"));
  const found = await Promise.all(all.map(async ({ name }) => {
    const store = await asked(indexedDB.open(name));
    const state = await asked(store.transaction("ItemTable").objectStore("ItemTable").get("memento/workbench.parts.editor"));
    store.close();
    const group = state && JSON.parse(state)["editorpart.state"]?.serializedGrid.root.data[0].data;
    return group ? group.mru.map((at) => group.editors[at].value.replaceAll("\\\\", "")) : [];
  }));
  return found.flat();
})()`;

/**
 * Until these words are written down: `front` of the editor in front, each of the others of any other one. VS Code writes
 * when it has nothing else to do, and when somebody turns to another window, as here; not when a window closes.
 */
export async function kept(page: Page, front: string, ...others: readonly string[]): Promise<void> {
  const browser = await page.context().newCDPSession(page);
  const focus = (enabled: boolean): Promise<unknown> => browser.send("Emulation.setFocusEmulationEnabled", { enabled });
  await until(`${[front, ...others].join(", ")} kept of the editors`, async () => {
    await focus(false);
    const [first, ...rest] = await page.evaluate<readonly string[]>(editorsKept);
    await page.bringToFront();
    await focus(true);
    return first?.includes(front) && others.every((words) => rest.some((each) => each.includes(words)));
  });
  await browser.detach();
}
