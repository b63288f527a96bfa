// The form of a question is what its schema says, and says yes to nothing by itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, valueOf } from "../../src/core/form";

const schema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", description: "As on the badge", default: "Ada" },
    count: { type: "integer" },
    ratio: { type: "number" },
    sure: { type: "boolean", default: true },
    colour: { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] },
    size: { type: "string", oneOf: [{ const: "s", title: "Small" }, { const: "l" }] },
    tags: { type: "array", items: { type: "string", enum: ["a", "b"] } },
    __proto__: { type: "string" },
  },
  required: ["name", "sure"],
};

test("each field is as its schema has it", () => {
  const fields = fieldsOf(schema);
  assert.deepEqual(
    fields.map(({ name, label, kind, required, initial, choices }) => [name, label, kind, required, initial, choices.map((one) => one.label)]),
    [
      ["name", "Your name", "text", true, "Ada", []],
      ["count", "count", "integer", false, "", []],
      ["ratio", "ratio", "number", false, "", []],
      ["sure", "sure", "boolean", true, "", []],
      ["colour", "colour", "choice", false, "", ["Red", "Green"]],
      ["size", "size", "choice", false, "", ["Small", "l"]],
      ["tags", "tags", "choices", false, "", ["a", "b"]],
    ],
  );
  assert.equal(fields[0]?.description, "As on the badge");
});

test("what was filled in is the value, and what was left empty is left out", () => {
  const filled = { name: "Grace", count: "3", ratio: "0.5", sure: "false", tags: '["a"]' };
  assert.deepEqual(valueOf(fieldsOf(schema), filled), {
    value: { name: "Grace", count: 3, ratio: 0.5, sure: false, tags: ["a"] },
  });
});

test("what cannot be meant is told by field", () => {
  const read = valueOf(fieldsOf(schema), { count: "3.5", ratio: "much", sure: "true" });
  assert.deepEqual(read, {
    problems: { name: "An answer is needed", count: "Not a whole number", ratio: "Not a number" },
  });
});

test("a field may be called as it likes", () => {
  const named = { type: "object", properties: JSON.parse('{"__proto__": {"type": "string"}}') as object };
  const read = valueOf(fieldsOf(named), JSON.parse('{"__proto__": "x"}') as Record<string, string>);
  assert.deepEqual("value" in read && Object.entries(read.value), [["__proto__", "x"]]);
});
