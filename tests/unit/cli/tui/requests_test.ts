import assert from "node:assert/strict";
import type { ReceivedEvent } from "../../../../cli/ctl/trace/decode_event.ts";
import type { Key, KeyName } from "../../../../cli/tui/keys.ts";
import {
  addEvents,
  initialModel,
  type Model,
} from "../../../../cli/tui/state/model.ts";
import { update } from "../../../../cli/tui/update.ts";
import { view } from "../../../../cli/tui/view.ts";
import { received } from "../../../harness/clients/received_events.ts";
import {
  forwardedTrace,
  refusedTrace,
} from "../../../harness/telemetry/sample_trace.ts";

const size = { columns: 80, rows: 24 };
const live = initialModel("the gateway", "waiting…", "requests");
const forwarded = received(forwardedTrace);
const refused = received(refusedTrace);

function press(model: Model, ...names: readonly (KeyName | string)[]): Model {
  return names.reduce((model, name) => {
    const key: Key = name.length === 1
      ? { name: "text", text: name }
      : { name: name as KeyName };
    return update(model, key, size);
  }, model);
}

function screen(model: Model): string {
  return view(model, size).map((row) => row.map(({ text }) => text).join(""))
    .join("\n");
}

function inLane(lane: number, events: readonly ReceivedEvent[]) {
  return events.map((event) => ({ ...event, lane }));
}

Deno.test("events belong to the request of their lane", () => {
  const model = addEvents(live, [
    ...inLane(0, forwarded.slice(0, 3)),
    ...inLane(1, refused),
    ...inLane(0, forwarded.slice(3)),
    ...inLane(1, refused.slice(0, 1)),
  ]);

  assert.deepEqual(
    model.requests.map(({ number, events }) => [number, events.length]),
    [[1, 13], [2, 4], [3, 1]],
  );
});

Deno.test("the newest request is selected until the user moves the selection", () => {
  const two = addEvents(addEvents(live, refused), refused);
  const elsewhere = addEvents(press(two, "k"), refused);
  const again = addEvents(press(elsewhere, "G"), refused);

  assert.equal(two.request, 1);
  assert.equal(elsewhere.request, 0);
  assert.equal(again.request, 3);
});

Deno.test("a second request opens the list unless the user has pressed a key", () => {
  const single = initialModel("a file", "reading…");
  const both = addEvents(addEvents(single, forwarded), refused);
  const pressed = press(addEvents(single, forwarded), "up");

  assert.equal(both.page, "requests");
  assert.match(screen(both), /Requests 2\/2/);
  assert.equal(addEvents(pressed, refused).page, "events");
});

Deno.test("the oldest of too many requests are dropped, and an open one closes", () => {
  const [start] = refused;
  assert(start);
  const open = press(addEvents(live, refused), "enter");

  const model = addEvents(open, Array.from({ length: 5000 }, () => start));

  assert.equal(model.requests.length, 5000);
  assert.equal(model.requests[0]?.number, 2);
  assert.equal(model.page, "requests");
  assert.match(screen(model), /\(1 older requests dropped\)/);
});

Deno.test("a search in the list goes to requests, and wraps around", () => {
  const model = addEvents(live, [...forwarded, ...refused, ...forwarded]);

  const found = press(model, "/", ..."expired", "enter");

  assert.equal(found.request, 1);
  assert.equal(press(found, "n").request, 1);
  assert.match(screen(press(found, "/", "~", "enter")), /not found: "~"/);
});

Deno.test("commands are completed, and unknown ones are reported", () => {
  const model = addEvents(live, refused);

  assert.match(screen(press(model, ":", "r", "e", "q", "tab")), /:requests_/);
  assert.match(
    screen(press(model, ":", ..."wrote", "enter")),
    /unknown command: "wrote"; did you mean "write"\?/,
  );
  assert.match(
    screen(press(model, ":", "w", "enter")),
    /expected :write <file>/,
  );
  assert.equal(press(model, ":", "q", "enter").isDone, true);
});

Deno.test("w without requests has nothing to save", () => {
  assert.match(screen(press(live, "w")), /nothing to save yet/);
});
