import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks, definesLinks, type Mark } from "../../src/core/markdown";
import { escapeProse } from "../../src/core/prose";

function html(mark: Mark | string): string {
  if (typeof mark === "string") {
    return mark;
  }
  const inner = mark.children.map(html).join("");
  const attributes = Object.entries(mark.attributes).map(([name, value]) => ` ${name}=${value}`);
  return mark.tag === "" ? inner : `<${mark.tag}${attributes.join("")}>${inner}</${mark.tag}>`;
}

const told = (text: string): string => blocks(text).map(({ mark }) => html(mark)).join("");

test("Markdown is told as elements", () => {
  assert.equal(told("# A *b*\n\n- one\n- `two`\n"), "<h1>A <em>b</em></h1><ul><li>one</li><li><code>two</code></li></ul>");
  assert.equal(told("```py\nx = 1\n```"), "<pre><code>x = 1\n</code></pre>");
  assert.equal(told("3. a\n4. b"), "<ol start=3><li>a</li><li>b</li></ol>");
});

test("HTML is text", () => {
  const [block] = blocks('<script>alert(1)</script> <img src=x onerror="1"> a');
  assert.deepEqual(block?.mark, { tag: "p", attributes: {}, children: ['<script>alert(1)</script> <img src=x onerror="1"> a'] });
});

test("links go to http and https alone, and say where", () => {
  assert.equal(told("[a](https://example.org/b)"), "<p><a href=https://example.org/b title=https://example.org/b>a</a></p>");
  assert.equal(told("https://example.org"), "<p><a href=https://example.org title=https://example.org>https://example.org</a></p>");
  for (const target of ["command:abey.approve", "javascript:alert(1)", "vscode://x", "file:///etc/passwd", "data:text/html,x", "//host", "../up"]) {
    assert.equal(told(`[a](${target})`), `<p>[a](${target})</p>`);
  }
});

test("pictures are links", () => {
  assert.match(told("![alt](https://example.org/a.png)"), /^<p><a href=[^>]+>\[image: alt\]<\/a><\/p>$/);
});

test("each block says in which line it begins", () => {
  assert.deepEqual(blocks("a\n\nb\nc\n\n- d").map(({ line }) => line), [0, 2, 5]);
});

test("definitions of links are seen", () => {
  assert.deepEqual([definesLinks("[a]: https://example.org"), definesLinks("a [b] c: d")], [true, false]);
});

test("prose keeps its emoji, and nothing else that hides", () => {
  assert.equal(escapeProse("⚠️ 👩‍💻 👍🏽 ok"), "⚠️ 👩‍💻 👍🏽 ok");
  assert.equal(escapeProse("a\u202eb\u200dc\ufe0f\x1b[0m"), "a\\u202eb\\u200dc\\ufe0f\\x1b[0m");
});
