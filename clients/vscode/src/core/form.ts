// The form of a question: the fields that its schema names, which is an object of flat fields (as in MCP elicitation).

export interface Choice {
  readonly value: string;
  readonly label: string;
}

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly description?: string;
  readonly required: boolean;
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice" | "choices" | "json";
  readonly choices: readonly Choice[];
  /** As it stands in the form at first. */
  readonly initial: string;
}

type Schema = Readonly<Record<string, unknown>>;

export function fieldsOf(schema: Schema | undefined): readonly Field[] {
  const properties = record(schema?.["properties"]);
  const required = list(schema?.["required"]);
  return Object.entries(properties).map(([name, one]) => fieldOf(name, record(one), required.includes(name)));
}

/**
 * The value of what was filled in, by the names of the fields; what was left empty is left out. Whether it fits is the
 * daemon's to say; what is no value at all is told by field.
 */
export function valueOf(
  fields: readonly Field[],
  filled: Readonly<Record<string, string>>,
): { readonly value: Readonly<Record<string, unknown>> } | { readonly problems: Readonly<Record<string, string>> } {
  const value: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const text = filled[field.name] ?? "";
    const read = text === "" ? { value: undefined } : readField(field, text);
    if ("problem" in read) {
      problems[field.name] = read.problem;
    } else if (read.value !== undefined) {
      // Never the prototype, whatever a field is called
      Object.defineProperty(value, field.name, { value: read.value, enumerable: true });
    } else if (field.required) {
      problems[field.name] = "An answer is needed";
    }
  }
  return Object.keys(problems).length > 0 ? { problems } : { value };
}

function fieldOf(name: string, schema: Schema, required: boolean): Field {
  const { description, title } = schema;
  const found = choicesOf(schema);
  return {
    name,
    label: typeof title === "string" && title !== "" ? title : name,
    ...(typeof description === "string" ? { description } : {}),
    required,
    kind: kindOf(schema, found),
    choices: found,
    initial: initialOf(schema),
  };
}

function kindOf(schema: Schema, choices: readonly Choice[]): Field["kind"] {
  const { type } = schema;
  if (choices.length > 0) {
    return type === "array" ? "choices" : "choice";
  }
  switch (type) {
    case "string":
      return "text";
    case "number":
    case "integer":
    case "boolean":
      return type;
    default:
      return "json";
  }
}

function choicesOf(schema: Schema): readonly Choice[] {
  const of = schema["type"] === "array" ? record(schema["items"]) : schema;
  const names = list(of["enumNames"]);
  const words = list(of["enum"]).filter((one) => typeof one === "string");
  const titled = [...list(of["oneOf"]), ...list(of["anyOf"])].map(record);
  return [
    ...words.map((value, at) => ({ value, label: String(names[at] ?? value) })),
    ...titled.flatMap(({ const: value, title }) =>
      typeof value === "string" ? [{ value, label: typeof title === "string" ? title : value }] : [],
    ),
  ];
}

function initialOf(schema: Schema): string {
  const value = schema["default"];
  // Whoever asks does not say yes to itself
  return value === undefined || schema["type"] === "boolean" ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

function readField(field: Field, text: string): { readonly value: unknown } | { readonly problem: string } {
  switch (field.kind) {
    case "text":
    case "choice":
      return { value: text };
    case "boolean":
      return { value: text === "true" };
    case "number":
    case "integer":
      return readNumber(field.kind, text.trim());
    case "choices":
    case "json":
      return readJson(text);
  }
}

function readNumber(kind: "number" | "integer", text: string) {
  const value = Number(text);
  const fits = text !== "" && Number.isFinite(value) && (kind === "number" || Number.isSafeInteger(value));
  return fits ? { value } : { problem: kind === "number" ? "Not a number" : "Not a whole number" };
}

export function readJson(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (problem) {
    return { problem: `Not JSON: ${problem instanceof Error ? problem.message : String(problem)}` };
  }
}

function record(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
