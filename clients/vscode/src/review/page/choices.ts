// What can be decided, by the kind of the call: buttons, and the fields that they read.
import { readJson, valueOf, type Field } from "../../core/form";
import type { Decided, Review } from "../../core/review";
import type { Outcome } from "../../protocol";
import { element, labelled } from "./dom";
import type { Drafts } from "./drafts";

export interface Choice {
  readonly label: string;
  readonly clicked: () => void;
  /** The same, the other way. */
  readonly other?: { readonly label: string; readonly clicked: () => void };
}

interface Choices {
  readonly fields: readonly HTMLElement[];
  readonly buttons: readonly Choice[];
}

interface Acts {
  decide(decided: Omit<Decided, "argumentsHash">): void;
  edit(): void;
  /** Shows all that the call has printed. */
  output(): void;
  say(words: string): void;
}

export function choicesOf(review: Review, drafts: Drafts, acts: Acts): Choices {
  switch (review.kind) {
    case "approval":
      return approval(review, drafts, acts);
    case "external":
      return external(review, drafts, acts);
    case "question":
      return review.question?.kind === "approval" ? yesOrNo(review, acts) : form(review, drafts, acts);
    case "uncertain":
      return uncertain(review, drafts, acts);
    case "running":
      return { fields: [], buttons: [] };
  }
}

function approval(review: Review, drafts: Drafts, { decide, edit }: Acts): Choices {
  const why = denial(drafts);
  return {
    fields: [labelled("What the model is told if you deny it (may be left empty)", why)],
    buttons: [
      both(review, "Approve", "Approve and Continue", (resume) => decide({ outcome: { kind: "approve" }, resume })),
      { label: "Deny", clicked: () => decide({ outcome: denied(why.value), resume: review.continues }) },
      ...(review.editable ? [{ label: "Edit…", clicked: edit }] : []),
    ],
  };
}

function external(review: Review, drafts: Drafts, { decide, say }: Acts): Choices {
  const result = area(drafts, "result");
  const as = kinds(drafts);
  const why = denial(drafts);
  const done = (resume: boolean): void => {
    const read = content(result.value, as.value);
    "problem" in read ? say(read.problem) : decide({ outcome: { kind: "result", content: read.value }, resume });
  };
  return {
    fields: [
      labelled("The result, as the model is told it", result),
      labelled("It is", as),
      labelled("What the model is told if you deny it, or it failed", why),
    ],
    buttons: [
      both(review, "Complete", "Complete and Continue", done),
      { label: "It Failed", clicked: () => decide({ outcome: failed(why.value), resume: review.continues }) },
      { label: "Deny", clicked: () => decide({ outcome: denied(why.value), resume: review.continues }) },
    ],
  };
}

function uncertain(review: Review, drafts: Drafts, { decide, say, output }: Acts): Choices {
  const result = area(drafts, "result");
  const as = kinds(drafts);
  const ran = (): void => {
    const read = content(result.value, as.value);
    "problem" in read
      ? say(read.problem)
      : decide({ outcome: { kind: "result", content: read.value }, resume: review.continues });
  };
  return {
    fields: [labelled("What came of it, as the model is told it", result), labelled("It is", as)],
    buttons: [
      { label: "It Ran: This Is the Result", clicked: ran },
      both(review, "Run Again", "Run Again and Continue", (resume) => decide({ outcome: { kind: "rerun" }, resume })),
      { label: "It Failed", clicked: () => decide({ outcome: failed(result.value), resume: review.continues }) },
      ...(review.moreOutput ? [{ label: "All of the Output…", clicked: output }] : []),
    ],
  };
}

function yesOrNo(review: Review, { decide }: Acts): Choices {
  const answer = (value: boolean) => () => decide({ outcome: { kind: "answer", value }, resume: review.continues });
  return { fields: [], buttons: [{ label: "Yes", clicked: answer(true) }, { label: "No", clicked: answer(false) }, cancel(review, decide)] };
}

function form(review: Review, drafts: Drafts, { decide, say }: Acts): Choices {
  const fields = review.question?.fields ?? [];
  const free = fields.length === 0;
  const controls = fields.map((field) => ({ field, control: controlOf(field, drafts) }));
  const text = area(drafts, "answer");
  const answer = (resume: boolean): void => {
    const filled = Object.fromEntries(controls.map(({ field, control }) => [field.name, control.value]));
    const read = free ? { value: text.value } : valueOf(fields, filled);
    if ("problems" in read) {
      const [[name, problem] = ["", ""]] = Object.entries(read.problems);
      say(`${fields.find((field) => field.name === name)?.label ?? name}: ${problem}`);
      controls.find(({ field }) => field.name === name)?.control.focus();
    } else {
      decide({ outcome: { kind: "answer", value: read.value }, resume });
    }
  };
  return {
    fields: free
      ? [labelled("Your answer", text)]
      : controls.map(({ field, control }) => labelled(`${field.label}${field.required ? " (needed)" : ""}`, control, field.description)),
    buttons: [both(review, "Answer", "Answer and Continue", answer), cancel(review, decide)],
  };
}

function cancel(review: Review, decide: Acts["decide"]): Choice {
  return { label: "Cancel", clicked: () => decide({ outcome: { kind: "cancel" }, resume: review.continues }) };
}

/** The button says whether the session goes on; the other way is in its menu. */
function both({ continues }: Review, stays: string, goesOn: string, done: (resume: boolean) => void): Choice {
  const one = (resume: boolean) => ({ label: resume ? goesOn : stays, clicked: () => done(resume) });
  return { ...one(continues), other: one(!continues) };
}

function controlOf(field: Field, drafts: Drafts): HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement {
  const control =
    field.kind === "choice" || field.kind === "boolean"
      ? select(field.kind === "boolean" ? [["true", "Yes"], ["false", "No"]] : field.choices.map(({ value, label }) => [value, label]))
      : field.kind === "json" || field.kind === "choices"
        ? element("textarea", { rows: "2", spellcheck: "false" })
        : element("input", { type: "text", spellcheck: "false", inputmode: field.kind === "text" ? "text" : "decimal" });
  control.value = field.initial;
  return drafts.keep(`field ${field.name}`, control);
}

function select(options: readonly (readonly string[])[]): HTMLSelectElement {
  const all = [["", "…"], ...options];
  return element("select", {}, ...all.map(([value = "", label = ""]) => element("option", { value }, label)));
}

function area(drafts: Drafts, name: string): HTMLTextAreaElement {
  return drafts.keep(name, element("textarea", { rows: "4", spellcheck: "false" }));
}

function denial(drafts: Drafts): HTMLTextAreaElement {
  return drafts.keep("why", element("textarea", { rows: "1", spellcheck: "false" }));
}

function kinds(drafts: Drafts): HTMLSelectElement {
  const options = [element("option", { value: "text" }, "a text"), element("option", { value: "json" }, "JSON")];
  return drafts.keep("kind", element("select", {}, ...options));
}

function content(typed: string, as: string): { readonly value: unknown } | { readonly problem: string } {
  if (typed === "") {
    return { problem: "Write the result first" };
  }
  return as === "json" ? readJson(typed) : { value: typed };
}

function denied(message: string): Outcome {
  return message.trim() === "" ? { kind: "deny" } : { kind: "deny", message };
}

function failed(message: string): Outcome {
  return { kind: "error", message: message.trim() === "" ? "it failed" : message };
}
