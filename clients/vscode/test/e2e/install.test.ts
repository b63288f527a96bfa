// The one button for a daemon that is not there: what it runs is seen in a terminal, and the daemon is found then.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { missing, noTerminal, noWheels, wheels } from "../support/available";
import { Desk } from "../support/desk";

const options = { skip: missing() ?? noTerminal() ?? noWheels() ?? false, timeout: 600_000 };

/** A machine without abey, with Python and what is named, and an index that is a folder. */
const bare = (place: Desk["place"], ...programs: readonly string[]): void => {
  const bin = join(place.home, "bin");
  mkdirSync(bin);
  const folders = (place.env["PATH"] ?? "").split(delimiter);
  for (const program of ["python3", ...programs]) {
    const path = folders.map((folder) => join(folder, program)).find(existsSync);
    assert.ok(path, program);
    symlinkSync(realpathSync(path), join(bin, program));
  }
  place.env["PATH"] = [bin, "/usr/bin", "/bin"].join(delimiter);
  writeFileSync(join(place.home, ".profile"), `export PATH='${place.env["PATH"]}'\n`);
  Object.assign(place.env, { PIP_NO_INDEX: "1", PIP_FIND_LINKS: wheels, UV_OFFLINE: "1", UV_NO_INDEX: "1", UV_FIND_LINKS: wheels });
};

const installed = async ({ workbench }: Desk, installer: string): Promise<void> => {
  await workbench.page.locator(".terminal-wrapper").first().waitFor();
  await workbench.toast("the daemon is installed, and connected").waitFor({ timeout: 180_000 });
  await workbench.shot(`terminal-${installer}`);
  await workbench.command("Abey: Start the Demo Agent");
  await workbench.activity("Abey");
  await workbench.row("shell: date").waitFor();
  await workbench.shot(`installed-${installer}`);
};

test("from a wheel, with Python alone", options, async () => {
  const desk = await Desk.sit((place) => bare(place));
  await desk.during(async ({ workbench, place }) => {
    const [wheel] = readdirSync(wheels).filter((name) => name.startsWith("abey-"));
    await workbench.activity("Abey");
    await workbench.page.locator(".pane-body").getByText("Install the Daemon").click();
    await workbench.quick.getByText("From a wheel…").click();
    const button = workbench.quick.getByText("Install", { exact: true });
    await button.waitFor();
    // It has read the folder that it begins in, and writes that no more
    await workbench.quick.getByText("..", { exact: true }).waitFor();
    await workbench.quick.locator("input").first().fill(join(wheels, wheel ?? ""));
    await workbench.quick.locator(".monaco-list-row", { hasText: wheel ?? "" }).waitFor();
    await button.click();
    await installed(desk, "wheel");
    assert.ok(existsSync(join(place.home, ".local/share/abey/venv/bin/abey-daemon")));
  });
});

const path = [process.env["ABEY_BIN"] ?? "", ...(process.env["PATH"] ?? "").split(delimiter)];
for (const [installer, label] of [["uv", "With uv"], ["pipx", "With pipx"]] as const) {
  if (path.some((folder) => existsSync(join(folder, installer)))) {
    test(`with ${installer}`, options, async () => {
      const desk = await Desk.sit((place) => bare(place, installer));
      await desk.during(async ({ workbench, place }) => {
        await workbench.command("Abey: Install the Daemon…");
        await workbench.quick.getByText(label).click();
        await installed(desk, installer);
        assert.ok(existsSync(join(place.home, ".local/bin/abey-daemon")));
      });
    });
  }
}
