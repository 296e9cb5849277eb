import assert from "node:assert/strict";
import { systemClock } from "../../../../src/base/clock.ts";
import { GatewayError } from "../../../../src/base/errors.ts";
import {
  type EventFilter,
  FilteredEvents,
} from "../../../../src/policy/mcp/filtered_events.ts";
import { ListReader } from "../../../../src/policy/mcp/list_reader.ts";
import { ChunkedBody } from "../../../harness/clients/chunked_body.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const reader = new ListReader(["tools"], systemClock);

const options: EventFilter = {
  filter: (data) =>
    reader.filter(data, (_, name) => !name.startsWith("x"), () => {}),
  maxBytes: 1000,
  onFailure: () => undefined,
};

/** Returns the stream that a client receives. */
async function receive(
  source: ChunkedBody,
  changes: Partial<EventFilter> = {},
): Promise<string> {
  const body = new FilteredEvents(source, { ...options, ...changes });
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  for (;;) {
    const chunk = await body.read();
    if (chunk === undefined) return text + decoder.decode();
    assert.ok(chunk.length > 0);
    text += decoder.decode(chunk, { stream: true });
  }
}

const list = '{"id":1,"result":{"tools":[{"name":"x"},{"name":"é"}]}}';
const kept = '{"id":1,"result":{"tools":[{"name":"é"}]}}';

const streams: readonly (readonly [string, string])[] = [
  [`data: ${list}\n\n`, `data: ${kept}\n\n`],
  [`\ufeffdata:${list}\n\n`, `\ufeffdata: ${kept}\n\n`.replace("\ufeff", "")],
  [
    `: hello\r\nevent: message\r\nid: 7\r\ndata: ${list}\r\nretry: 5\r\n\r\n`,
    `: hello\r\nevent: message\r\nid: 7\r\ndata: ${kept}\r\nretry: 5\r\n\r\n`,
  ],
  [`data: ${list}\rid: 1\r\r`, `data: ${kept}\rid: 1\r\r`],
  [
    `data: {"id":1,\ndata:  "result":\nid: 3\ndata: {"tools":[{"name":"x"}]}}\n\n`,
    `data: {"id":1,\ndata:  "result":\ndata: {"tools":[]}}\nid: 3\n\n`,
  ],
  [
    `event: endpoint\ndata: /messages?sessionId=1\n\n\n: ping\n\ndata\n\nid: 0\ndata:\n\n`,
    `event: endpoint\ndata: /messages?sessionId=1\n\n\n: ping\n\ndata\n\nid: 0\ndata:\n\n`,
  ],
  [
    `data: {"method":"m","params":{"tools":[{"name":"x"}]}}\n\ndata: ${list}\n\n`,
    `data: {"method":"m","params":{"tools":[{"name":"x"}]}}\n\ndata: ${kept}\n\n`,
  ],
  [`event: other\ndata: ${list}\n\n`, `event: other\ndata: ${kept}\n\n`],
  // Text, numbers and strings are no messages.
  ["data: hello {\n\ndata: 7\n\n", "data: hello {\n\ndata: 7\n\n"],
  // Nothing ends the last event: some clients read it.
  [`data: {}\n\ndata: ${list}`, `data: {}\n\ndata: ${kept}`],
  [`data: ${list}\n`, `data: ${kept}\n`],
];

for (const [sent, expected] of streams) {
  Deno.test(`a client receives ${JSON.stringify(expected)}, wherever chunks are split`, async () => {
    assert.equal(await receive(new ChunkedBody(sent)), expected);
    assert.equal(await receive(new ChunkedBody(...sent)), expected);
    for (let at = 1; at < sent.length; at++) {
      const body = new ChunkedBody(sent.slice(0, at), sent.slice(at));
      assert.equal(await receive(body), expected, `split at ${at}`);
    }
  });
}

Deno.test("several events in any chunks are filtered one by one", async () => {
  const all = streams.slice(2, 8).map(([sent, expected]) => ({
    sent,
    expected,
  }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...all), { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(400), { maxLength: 6 }),
      async (events, places) => {
        const text = events.map(({ sent }) => sent).join("");
        const cuts = [0, ...places.map((at) => at % text.length), text.length]
          .toSorted((a, b) => a - b);
        const chunks = cuts.slice(1).map((end, i) => text.slice(cuts[i], end))
          .filter((chunk) => chunk !== "");

        assert.equal(
          await receive(new ChunkedBody(...chunks)),
          events.map(({ expected }) => expected).join(""),
        );
      },
    ),
  );
});

Deno.test("an event is passed on as soon as it is complete", async () => {
  const source = new ChunkedBody("data: 1\n", "\ndata: 2\n\nda", "ta: 3\n\n");
  const body = new FilteredEvents(source, options);

  const first = new TextDecoder().decode(await body.read());

  assert.equal(first, "data: 1\n\ndata: 2\n\n");
  assert.equal(source.reads, 2);
});

for (
  const [what, event] of [
    ["is no JSON", "data: {]\n\n"],
    [
      "has numbers that some clients read",
      'data: {"result":{"tools":[{"name":"x","n":NaN}]}}\n\n',
    ],
    ["is a list that cannot be read", 'data: {"result":{"tools":[{}]}}\n\n'],
    [
      "can be read in two ways",
      'event: other\ndata: {"result":1,"result":{}}\n\n',
    ],
    ["is too long", `data: "${"a".repeat(1001)}"\n\n`],
    ["is too long and never ends", `data: ${"a".repeat(2000)}`],
    ["has too many lines", `${"\ndata:".repeat(10_001).slice(1)}\n\n`],
  ] as const
) {
  Deno.test(`an event that ${what} is not passed on, and ends the stream`, async () => {
    const maxBytes = what.includes("too long") ? 1000 : 1 << 20;
    const source = new ChunkedBody("data: 1\n\n", event, "data: 2\n\n");
    const chunks: string[] = [];
    const body = new FilteredEvents(source, { ...options, maxBytes });
    const readAll = async () => {
      for (let chunk = await body.read(); chunk; chunk = await body.read()) {
        chunks.push(new TextDecoder().decode(chunk));
      }
    };
    await assert.rejects(
      readAll,
      (error) =>
        error instanceof GatewayError && error.code === "list_unreadable",
    );

    assert.deepEqual(chunks, ["data: 1\n\n"]);
    assert.equal(source.cancelledWith.length, 1);

    const last = new TextEncoder().encode("data: sorry\n\n");
    const same = new ChunkedBody(`data: 1\n\n${event}`, "data: 2\n\n");
    assert.equal(
      await receive(same, { maxBytes, onFailure: () => last }),
      "data: 1\n\ndata: sorry\n\n",
    );
  });
}

Deno.test("others go on while a stream of many small events is filtered", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  try {
    await receive(new ChunkedBody("data:{}\n\n".repeat(20_000)));
  } finally {
    clearInterval(timer);
  }

  assert.ok(turns >= 20, `others had ${turns} turns`);
});

Deno.test("cancelling the stream cancels its source", () => {
  const source = new ChunkedBody("data: 1\n\n");
  new FilteredEvents(source, options).cancel("gone");

  assert.deepEqual(source.cancelledWith, ["gone"]);
});
