import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  FRAME_TYPES,
  PREFACE,
  SETTINGS,
} from "../../src/http/http2/frames/http2_protocol.ts";
import { TestServer } from "../harness/servers/echo_server.ts";
import {
  block,
  data,
  frame,
  GET,
  headers,
  Http2Client,
  POST,
  settings,
  uint32,
} from "../harness/clients/http2_client.ts";
import { createRandom } from "../harness/clients/mutations.ts";

const ROUNDS = 400;

/** Frames of each kind, most of them allowed where they stand. */
function conversation(below: (limit: number) => number): Uint8Array[] {
  const frames: Uint8Array[] = [settings(), frame(FRAME_TYPES.settings, 1, 0)];
  const id = () => 1 + 2 * below(6);
  const kinds: readonly (() => Uint8Array[])[] = [
    () => [headers(id(), GET)],
    () => [headers(id(), [...POST, ["content-length", "3"]], false)],
    () => [data(id(), "abc".slice(below(4)), below(2) === 0)],
    () => [
      frame(1, 0, 1, block(GET).slice(0, 9)),
      frame(9, 4, 1, block(GET).slice(9)),
    ],
    () => [headers(id(), [["x-trailer", "1"]])],
    () => [frame(FRAME_TYPES.rstStream, 0, id(), uint32(below(14)))],
    () => [
      frame(
        FRAME_TYPES.windowUpdate,
        0,
        below(2) * id(),
        uint32(1 + below(70_000)),
      ),
    ],
    () => [frame(FRAME_TYPES.ping, below(2), 0, new Uint8Array(8))],
    () => [frame(FRAME_TYPES.priority, 0, id(), new Uint8Array(5))],
    () => [settings([SETTINGS.initialWindowSize, below(100_000)])],
    () => [frame(below(12), below(256), id(), new Uint8Array(below(40)))],
  ];
  for (let i = below(20); i >= 0; i--) {
    frames.push(...kinds[below(kinds.length)]?.() ?? []);
  }
  return frames;
}

Deno.test("HttpServer survives any frames of HTTP/2, changed and cut at any byte", async () => {
  await using test = await TestServer.start();
  const random = createRandom(9113);
  const below = (limit: number) => Math.floor(random() * limit);

  for (let round = 0; round < ROUNDS; round++) {
    using client = new Http2Client(
      await Deno.connect({ hostname: "127.0.0.1", port: test.port }),
    );
    const bytes = Buffer.concat([Buffer.from(PREFACE), ...conversation(below)]);
    for (let changes = below(3); changes > 0; changes--) {
      bytes[PREFACE.length + below(bytes.length - PREFACE.length)] = below(256);
    }
    const cut = below(3) === 0 ? below(bytes.length) : bytes.length;
    try {
      await client.send(bytes.subarray(0, cut / 2));
      await client.send(bytes.subarray(cut / 2, cut));
    } catch {
      // The server may have hung up on what came first.
    }
    // The settings of the server come first, if it heard that it is HTTP/2.
    if (cut > PREFACE.length) await client.next();
  }

  using client = await Http2Client.connect(test.port);
  await client.send(headers(1, GET));
  assert.deepEqual((await client.fields(1)).slice(0, 2), [":status", "200"]);
  assert.deepEqual(test.reports, []);
});
