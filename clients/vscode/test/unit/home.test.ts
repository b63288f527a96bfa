// Folders as a shell of the user would have them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { homely } from "../../src/core/home";

test("the home folder is short, and nothing else", () => {
  const paths = ["/home/ada", "/home/ada/work", "/home/adam", "/srv/home/ada/x", "~"];
  assert.deepEqual(
    paths.map((path) => homely(path, "/home/ada")),
    ["~", "~/work", "/home/adam", "/srv/home/ada/x", "~"],
  );
});
