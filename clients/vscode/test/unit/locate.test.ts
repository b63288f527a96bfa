// Where the daemon's program is looked for; never in the workspace.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { configDir, isInside, isUsed, locate, stateDir, venvFolder, type Located } from "../../src/core/locate";

let root = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "abey-locate-")));
});
afterEach(() => rmSync(root, { recursive: true }));

const home = (): string => join(root, "home");

function program(...parts: readonly string[]): string {
  const path = join(root, ...parts, "abey-daemon");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "#!/bin/sh\n");
  chmodSync(path, 0o755);
  return path;
}

function found(
  changed: { env?: Record<string, string>; configured?: string; folders?: readonly string[] } = {},
): Located {
  return locate({ env: {}, home: home(), configured: "", folders: [], ...changed });
}

test("nowhere", () => assert.deepEqual(found(), { missing: "abey-daemon was not found" }));

const places: readonly (readonly string[])[] = [
  ["home", ".local", "bin"],
  ["home", ".local", "share", "uv", "tools", "abey", "bin"],
  ["home", ".local", "share", "pipx", "venvs", "abey", "bin"],
  ["home", ".local", "pipx", "venvs", "abey", "bin"],
  ["home", ".local", "share", "abey", "venv", "bin"],
];
for (const place of places) {
  test(`in ${place.join("/")}`, () => {
    const path = program(...place);
    assert.deepEqual(found(), { path });
  });
}

test("PATH comes first, and its relative folders do not count", () => {
  const path = program("bin");
  program("home", ".local", "bin");
  assert.deepEqual(found({ env: { PATH: `.:bin:${join(root, "bin")}` } }), { path });
});

test("what is configured is used, or nothing", () => {
  program("home", ".local", "bin");
  const path = program("mine");
  assert.deepEqual(found({ configured: path }), { path });
  const other = join(root, "other");
  assert.deepEqual(found({ configured: other }), {
    missing: `abey.daemonPath is no program outside of this workspace: ${other}`,
  });
  assert.deepEqual(found({ configured: "~/.local/bin/abey-daemon" }), { path: join(home(), ".local/bin/abey-daemon") });
});

test("nothing of the workspace, also by a link from outside, or into it", () => {
  const inside = program("work", "bin");
  const folders = [join(root, "work")];
  assert.deepEqual(found({ env: { PATH: dirname(inside) }, folders }), { missing: "abey-daemon was not found" });
  mkdirSync(join(root, "bin"));
  symlinkSync(inside, join(root, "bin", "abey-daemon"));
  assert.deepEqual(found({ env: { PATH: join(root, "bin") }, folders }), { missing: "abey-daemon was not found" });
  assert.ok("missing" in found({ configured: inside, folders }));
});

test("a window on the whole home folder finds what is in it", () => {
  const path = program("home", ".local", "bin");
  assert.deepEqual(found({ folders: [home()] }), { path });
});

test("a file that cannot be run, and a folder, are no program", () => {
  chmodSync(program("home", ".local", "bin"), 0o644);
  mkdirSync(join(root, "bin", "abey-daemon"), { recursive: true });
  assert.ok("missing" in found({ env: { PATH: join(root, "bin") } }));
});

test("inside is by parts of the path", () => {
  assert.deepEqual(
    ["/one/a", "/one", "/oneself", "/"].map((path) => isInside(path, ["/one"])),
    [true, true, false, false],
  );
});

test("folders are those of the daemon", () => {
  assert.deepEqual(
    [stateDir({}, "/h"), stateDir({ XDG_STATE_HOME: "/x" }, "/h"), stateDir({ ABEY_STATE_DIR: "/s" }, "/h")],
    ["/h/.local/state/abey", "/x/abey", "/s"],
  );
  assert.deepEqual([configDir({}, "/h"), configDir({ ABEY_CONFIG_DIR: "/c" }, "/h")], ["/h/.config/abey", "/c"]);
  assert.equal(venvFolder({ XDG_DATA_HOME: "relative" }, "/h"), "/h/.local/share/abey/venv");
});

test("a daemon is wanted where one runs, or left sessions", () => {
  assert.equal(isUsed(root), false);
  mkdirSync(join(root, "sessions"));
  assert.equal(isUsed(root), false);
  mkdirSync(join(root, "sessions", "s1"));
  assert.equal(isUsed(root), true);
  rmSync(join(root, "sessions"), { recursive: true });
  writeFileSync(join(root, "daemon.addr"), "/run/abey\n");
  assert.equal(isUsed(root), true);
});
