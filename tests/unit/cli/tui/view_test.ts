import assert from "node:assert/strict";
import type { Key, KeyName } from "../../../../cli/tui/keys.ts";
import type { Size } from "../../../../cli/tui/state/layout.ts";
import {
  addEvents,
  eventsOf,
  initialModel,
  type Model,
} from "../../../../cli/tui/state/model.ts";
import { widthOf } from "../../../../cli/output/columns.ts";
import { toTerminal } from "../../../../cli/tui/style.ts";
import { update } from "../../../../cli/tui/update.ts";
import { view } from "../../../../cli/tui/view.ts";
import { received } from "../../../harness/clients/received_events.ts";
import {
  forwardedTrace,
  refusedTrace,
  requestState,
  traceEvent,
} from "../../../harness/telemetry/sample_trace.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const small: Size = { columns: 80, rows: 24 };
const empty = initialModel("gateway/default", "waiting for a request…");
const forwarded = addEvents(empty, received(forwardedTrace));

/** Types characters, or presses keys by name. */
function press(model: Model, ...names: readonly (KeyName | string)[]): Model {
  return names.reduce((model, name) => {
    const key: Key = name.length === 1
      ? { name: "text", text: name }
      : { name: name as KeyName };
    return update(model, key, small);
  }, model);
}

/** The screen as text, without styles. */
function screen(model: Model, size = small): string {
  return view(model, size).map((row) => row.map(({ text }) => text).join(""))
    .join("\n");
}

Deno.test("view states what it waits for before the first event", () => {
  assert.match(screen(empty), /^ trace of gateway\/default +\n▶ Events ─/);
  assert.match(screen(empty), /\nwaiting for a request… +\nq quit/);
});

Deno.test("the newest event is selected until the user moves the selection", () => {
  const [first, second, third, fourth] = received(forwardedTrace);
  assert(first && second && third && fourth);

  const following = addEvents(addEvents(empty, [first]), [second, third]);
  const elsewhere = addEvents(press(following, "up"), [fourth]);
  const again = addEvents(press(elsewhere, "end"), [fourth]);

  assert.equal(following.selected, 2);
  assert.equal(elsewhere.selected, 1);
  assert.equal(again.selected, 4);
});

Deno.test("the first error of a failed request is selected, until the user moves the selection", () => {
  const refused = received(refusedTrace);
  const [last] = refused.slice(-1);
  assert(last);

  const running = addEvents(empty, refused.slice(0, -1));
  const failed = addEvents(running, [last]);
  const elsewhere = addEvents(press(running, "home"), [last]);

  assert.equal(running.selected, 2);
  assert.equal(failed.selected, 2);
  assert.match(screen(failed), /\n> .* policy +·? +401 jwt: token expired/);
  assert.equal(elsewhere.selected, 0);
});

Deno.test("the end of a request that failed without an error event is selected", () => {
  const events = received([
    traceEvent({ type: "requestStarted" }),
    traceEvent({ type: "requestFinished", status: 500, error: null }),
  ]);

  assert.equal(addEvents(empty, events).selected, 1);
});

Deno.test("the status line shows the result of the selected event's request", () => {
  const end = (model: Model) => view(model, small).at(-2)?.[0];

  const refused = end(addEvents(empty, received(refusedTrace)));
  const first = end(forwarded);
  const unknown = end(addEvents(empty, received(refusedTrace.slice(0, 2))));

  assert.match(refused?.text ?? "", /4 events, complete · 401 jwt: token exp/);
  assert.equal(refused?.style, "error");
  assert.match(first?.text ?? "", /13 events, complete · 200 +$/);
  assert.equal(first?.style, "plain");
  assert.match(unknown?.text ?? "", /2 events, in progress +$/);
});

Deno.test("the selected event is reversed and keeps the color of its severity", () => {
  const model = addEvents(empty, received(refusedTrace));
  const row = view(model, small).find(([span]) => span?.isSelected === true);
  assert(row);

  assert.equal(toTerminal(row, true).indexOf("\x1b[7;31;1m> "), 0);
  assert.equal(toTerminal(row, false).indexOf("\x1b[7;1m> "), 0);
});

Deno.test("keys beyond the first and last event change nothing", () => {
  assert.equal(press(forwarded, "down", "pageDown").selected, 12);
  assert.equal(press(forwarded, "home", "up", "pageUp").selected, 0);
  assert.equal(press(empty, "up", "down", "end", "pageUp").selected, 0);
});

Deno.test("another event is shown from its first line", () => {
  const scrolled = press(forwarded, "s", "tab", "down", "down");

  const other = press(scrolled, "tab", "up");

  assert.equal(scrolled.detailLine, 2);
  assert.equal(other.detailLine, 0);
});

Deno.test("the diff shows additions, changes and removals since the previous snapshot", () => {
  const model = press(forwarded, "/", ..."x-team", "enter", "d");

  const text = screen(model);

  assert.match(text, /initial request → final request/);
  assert.match(text, /\+ request\.headers\.x-team: "blue"/);
  assert.match(text, /\+ backend\.name: "default\/mcp\/backend0"/);
  assert.match(text, /- request\.headers\.x-debug: "1"/);
  assert.doesNotMatch(text, /request\.method:/);
});

Deno.test("an event that is not a snapshot shows the previous snapshot", () => {
  const model = press(forwarded, "home", "down", "down", "down", "s");

  assert.match(screen(model), /routeSelection[^]*\ninitial request\n/);
});

Deno.test("snapshots of an earlier request are not shown", () => {
  const model = addEvents(forwarded, received(forwardedTrace.slice(0, 1)));

  assert.match(screen(press(model, "enter", "s")), /no snapshot yet/);
});

Deno.test("s shows a body as text", () => {
  const model = press(forwarded, "/", ..."bodySnapshot", "enter", "s");

  assert.match(screen(model), /body of the final request: 40 bytes/);
  assert.match(screen(model), / {2}"method": "ping"/);
});

Deno.test("s reports a binary body and a truncated body", () => {
  const binary = traceEvent({
    type: "bodySnapshot",
    stage: "response",
    body: "/wD/",
    truncated: true,
  });
  const model = addEvents(empty, received([binary]));

  assert.match(
    screen(press(model, "s")),
    /3 bytes, truncated\nbinary/,
  );
});

Deno.test("f toggles between YAML and JSON", () => {
  assert.match(screen(forwarded), /\nmessage:\n {2}type: requestFinished\n/);
  assert.match(screen(press(forwarded, "f")), /"type": "requestFinished",/);
  assert.equal(screen(press(forwarded, "f", "f")), screen(forwarded));
});

Deno.test("a search in the detail pane moves to the line and marks the match", () => {
  const model = press(
    forwarded,
    "s",
    "tab",
    "/",
    ..."CONTENT-type",
    "enter",
  );

  const marked = view(model, small).flat()
    .filter(({ style, text }) => style === "strong" && !text.includes(" "));
  assert.deepEqual(marked.map(({ text }) => text), ["content-type"]);
});

Deno.test("keys typed into a search are not commands", () => {
  const model = press(forwarded, "/", "q", "e", "backspace");

  assert.equal(model.isDone, false);
  assert.match(screen(model), /\nsearch: q_ +\nenter search/);
  assert.equal(press(model, "interrupt").isDone, true);
});

Deno.test("the status line shows the number of events and why the stream ended", () => {
  const lost: Model = {
    ...forwarded,
    stream: { kind: "lost", reason: "Lost the trace: cut" },
  };

  assert.match(screen(forwarded), /\n13 events, complete · 200 /);
  assert.match(screen(lost), /\n13 events; Lost the trace: cut /);
});

Deno.test("the oldest of too many events are dropped and counted", () => {
  const [first, second] = received(forwardedTrace);
  assert(first && second);

  const started = addEvents(empty, [first]);
  const many = Array.from({ length: 20_002 }, () => second);
  const model = addEvents(started, many);

  assert.equal(eventsOf(model).length, 20_000);
  assert.match(screen(model), /3 older events dropped/);
});

Deno.test("large events are dropped earlier, but never the newest", () => {
  const large = traceEvent({
    type: "bodySnapshot",
    stage: "response",
    body: "A".repeat(10 * 1024 * 1024),
  });
  const [event] = received([large]);
  assert(event);

  const model = addEvents(empty, Array.from({ length: 8 }, () => event));

  assert.equal(eventsOf(model).length, 6);
  assert.equal(model.droppedEvents, 2);
});

Deno.test("severity sets the color, and without colors only the word", () => {
  const row = [{ text: "denied", style: "error" } as const];

  assert.equal(toTerminal(row, true), "\x1b[31;1mdenied\x1b[0m");
  assert.equal(toTerminal(row, false), "\x1b[1mdenied\x1b[0m");
});

const anyKeys = fc.array(
  fc.constantFrom(
    ...["up", "down", "pageUp", "pageDown", "home", "end", "tab", "enter"],
    ...["escape", "backspace", "e", "s", "d", "f", "/", "n", "N", "x"],
    ...["j", "k", "g", "G", "?", ":", "w", "y", "r", "[", "]", "1"],
  ),
  { maxLength: 20 },
);
const anySize = fc.record({
  columns: fc.integer({ min: 1, max: 200 }),
  rows: fc.integer({ min: 1, max: 60 }),
});

Deno.test("view fills exactly the screen for any events and keys", () => {
  const anyText = fc.string({ unit: "binary" });
  const anyCount = fc.integer({ min: 1, max: 2 });
  const anything = [anyText, anyKeys, anySize, anyCount] as const;
  fc.assert(fc.property(...anything, (text, keys, size, count) => {
    const hostile = traceEvent({
      type: "requestSnapshot",
      stage: "initial request",
      requestState: requestState({ "x-text": text, [text]: "value" }),
    });
    const started = count > 1 ? forwardedTrace.slice(0, 1) : [];
    const unknown = { eventEnd: 1, message: { type: text, text } };
    const model = press(
      addEvents(forwarded, received([...started, hostile, unknown])),
      ...keys,
    );

    const rows = view(model, size);

    assert.equal(rows.length, size.rows);
    for (const row of rows) {
      const columns = row.reduce(
        (column, { text, at }) => (at ?? column) + widthOf(text),
        0,
      );
      assert(columns <= size.columns, `${columns} > ${size.columns}`);
      const shown = row.map(({ text }) => text).join("");
      assert.doesNotMatch(shown, /[\p{C}\u2028\u2029]/u);
    }
  }));
});
