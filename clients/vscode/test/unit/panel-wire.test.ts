// The panel without VS Code, over the wire to the real daemon: what it asks for is there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Followings } from "../../src/core/following";
import { LastingDaemon } from "../../src/core/lasting";
import type { Frame, RowView, SessionView } from "../../src/core/page";
import { PanelModel } from "../../src/core/panel-model";
import { agents } from "../../src/protocol";
import { asking, bash, type Entry } from "../support/agents";
import { hasDaemon } from "../support/available";
import { guarding, install } from "../support/hook";
import { Place } from "../support/place";
import { until } from "../support/until";
import { wire } from "../support/wire";

interface Shown {
  readonly model: PanelModel;
  readonly opened: string[];
  /** As the page has it now. */
  rows(): readonly RowView[];
  session(): SessionView | undefined;
  trouble(): string;
}

interface World {
  readonly place: Place;
  readonly daemon: LastingDaemon;
  open(sessionId: string): Shown;
}

const skip = hasDaemon() ? false : "no abey-daemon on PATH";

function real(name: string, prepare: (place: Place) => void, body: (world: World) => Promise<void>): void {
  test(name, { skip, timeout: 60_000 }, async () => {
    const place = new Place();
    prepare(place);
    const daemon = new LastingDaemon(wire(place), () => undefined);
    const followings = new Followings(daemon);
    const models: PanelModel[] = [];
    const open = (sessionId: string): Shown => {
      const shown = show(daemon, followings, sessionId);
      models.push(shown.model);
      return shown;
    };
    try {
      await body({ place, daemon, open });
    } finally {
      models.forEach((model) => model.dispose());
      followings.dispose();
      await daemon.dispose();
      await place.dispose();
    }
  });
}

/** A page that paints every frame at once. */
function show(daemon: LastingDaemon, followings: Followings, sessionId: string): Shown {
  let rows: RowView[] = [];
  let last: Frame | undefined;
  let session: SessionView | undefined;
  const opened: string[] = [];
  const model: PanelModel = new PanelModel(daemon, followings, sessionId, {
    post: (frame) => {
      rows = frame.reset ? [] : rows;
      for (const op of frame.ops) {
        if (op.kind === "splice") {
          rows.splice(op.at, op.remove, ...op.rows);
        } else if (op.kind === "put") {
          rows = rows.map((row) => (row.id === op.row.id ? op.row : row));
        }
      }
      [last, session] = [frame, frame.session ?? session];
      setImmediate(() => model.receive({ kind: "painted", n: frame.n }));
    },
    openReview: () => undefined,
    openSession: (id) => opened.push(id),
    openOutput: () => undefined,
    openLink: () => undefined,
    keep: () => undefined,
    titled: () => undefined,
  });
  model.receive({ kind: "ready" });
  return { model, opened, rows: () => rows, session: () => session, trouble: () => last?.trouble ?? "" };
}

const running = (...script: readonly Entry[]): object => ({ ...asking(...script), toolCallPolicy: { default: "runSync" } });

real(
  "a session is forked from every point that its rows offer, and taken back to each",
  (place) =>
    place.agent("runs", { ...running({ thinking: "I look.", text: "I look.", calls: [bash("echo one"), bash("echo two")] }, { text: "Done." }) }),
  async ({ place, daemon, open }) => {
    const start = { agent: "runs", prompt: "go", cwd: place.work, run: "turn" } as const;
    const { sessionId } = await daemon.request(agents.start, start);
    const { model, opened, rows, trouble } = open(sessionId);
    await until("all rows", () => rows().length === 6);
    const states: string[] = [];
    for (const row of rows()) {
      const results = row.kind === "call" && row.ended ? [{ resultsOf: row.callId }] : [];
      for (const at of [{ revision: row.revision ?? 0 }, ...results]) {
        const before = opened.length;
        model.receive({ kind: "fork", at });
        const fork = await until(`a fork at ${JSON.stringify(at)}: ${trouble()}`, () => opened[before]);
        states.push(`${row.kind} ${(await daemon.request(agents.get, { sessionId: fork })).session.state}`);
      }
    }
    assert.deepEqual(states, [
      "input userTurn",
      "thinking llmTurn",
      "answer llmTurn",
      "call llmTurn",
      "call userTurn",
      "call llmTurn",
      "call userTurn",
      "answer completed",
    ]);
    const [call] = rows().flatMap((row) => (row.kind === "call" ? [row] : []));
    assert.ok(call);
    model.receive({ kind: "rewind", to: { resultsOf: call.callId } });
    await until("the results are the end", () => rows().length === 5 && rows().every((row) => row.kind !== "call" || row.ended));
    assert.deepEqual([(await daemon.request(agents.get, { sessionId })).session.state, trouble()], ["userTurn", ""]);
  },
);

real(
  "which extension ended a turn is told to who opens the session later",
  (place) => {
    install(place, guarding);
    place.agent("tells", asking({ text: "The secret is 42." }));
  },
  async ({ place, daemon, open }) => {
    const { sessionId } = await daemon.request(agents.start, { agent: "tells", prompt: "go", cwd: place.work, run: "turn" });
    const { session } = open(sessionId);
    const named = (view: SessionView | undefined) => view?.notices.find((notice) => notice.startsWith("the extension"));
    assert.equal(await until("its name", () => named(session())), "the extension guarding ended it: it tells a secret");
    await place.kill();
    await until("another daemon", async () => (await daemon.request(agents.status, {})).daemon.pid);
    const { session: again } = open(sessionId);
    assert.equal(await until("its name again", () => named(again())), named(session()));
  },
);

real(
  "what was proposed, what was decided and what ran are three things on a card",
  (place) => place.agent("asker", asking({ calls: [bash("echo proposed")] }, { text: "Done." })),
  async ({ place, daemon, open }) => {
    await daemon.connect();
    const sessionId = await place.waiting("asker");
    const [call] = (await daemon.request(agents.pending, { sessionId })).items;
    assert.ok(call);
    const { token, argumentsHash } = call;
    const outcome = { kind: "approve", arguments: { command: "echo edited" } } as const;
    await daemon.request(agents.complete, { token, argumentsHash, outcome, wait: true });
    const { rows } = open(sessionId);
    const card = await until("it has ended", () =>
      rows().flatMap((row) => (row.kind === "call" && row.ended ? [row] : []))[0],
    );
    assert.deepEqual(
      [card.proposed, card.arguments, card.output, card.decision],
      ["echo proposed", "echo edited", "edited\n", "approved with other arguments by VS Code (vscode)"],
    );
  },
);
