// A long session on disk, as it would have come from elsewhere.
import type { Place } from "./place";

/** `count` turns with a tool call each; gives the id of the session. */
export async function seeded(place: Place, agent: string, title: string, count: number): Promise<string> {
  const transcript = Array.from({ length: count }, (_, n) => turn(n + 1)).flat();
  const path = place.file("../seed.json", JSON.stringify({ transcript }));
  const said = await place.abey("session", "seed", "--json", "--agent", agent, "--cwd", place.work, "--title", title, path);
  return (JSON.parse(said) as { sessionId: string }).sessionId;
}

function turn(n: number): readonly unknown[] {
  const turnId = `turn-${n}`;
  const call = { type: "tool-call", id: `c${n}`, name: "bash_command", args: { command: `grep -rn "part ${n}" src` } };
  const reasoning = { type: "reasoning", text: `Let me think about part ${n}.` };
  const text = `Part **${n}** is in \`module_${n}.py\`:\n\n- the first point\n- the second point, which is longer\n\nThat is all of turn ${n}.`;
  const candidate = (stepId: string, output: readonly unknown[]): unknown => ({ kind: "candidate", turnId, stepId, candidate: { output } });
  return [
    { kind: "input", turnId, event: { kind: "user-message", text: `What about part ${n}?` } },
    candidate(`s${n}a`, [reasoning, { type: "text", text: `I look for part ${n}.` }, call]),
    { kind: "tool-results", turnId, stepId: `s${n}a`, results: [{ kind: "completed", callId: `c${n}`, toolName: "bash_command", output: `src/a.py:${n}: part ${n}\n` }] },
    candidate(`s${n}b`, [{ type: "text", text }]),
    { kind: "final", turnId, stepId: `s${n}b`, output: text },
  ];
}
