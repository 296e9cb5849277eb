import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { GatewayError } from "../../src/base/errors.ts";
import {
  FRAME_TYPES,
  PREFACE,
} from "../../src/http/http2/frames/http2_protocol.ts";
import {
  data,
  frame,
  headers,
  Http2Client,
  settings,
  uint32,
} from "../harness/clients/http2_client.ts";
import { createRandom } from "../harness/clients/mutations.ts";
import { exchange, upstreamAt } from "../harness/clients/upstream_requests.ts";

const ROUNDS = 300;
const OK = [[":status", "200"]] as const;

/** Frames of an upstream for two requests, most of them valid. */
function conversation(below: (limit: number) => number): Uint8Array {
  const frames: Uint8Array[] = [];
  const id = () => 1 + 2 * below(2);
  const kinds: readonly (() => Uint8Array)[] = [
    () => headers(id(), OK, below(3) === 0),
    () => headers(id(), [...OK, ["content-length", "3"]], false),
    () => headers(id(), [[":status", "103"], ["link", "</a>"]], false),
    () => headers(id(), [["x-trailer", "1"]]),
    () => data(id(), "abc".slice(below(4)), below(2) === 0),
    () => frame(FRAME_TYPES.rstStream, 0, id(), uint32(below(14))),
    () => frame(FRAME_TYPES.goAway, 0, 0, [...uint32(below(5)), 0, 0, 0, 0]),
    () => frame(FRAME_TYPES.ping, below(2), 0, new Uint8Array(8)),
    () => frame(below(12), below(256), id(), new Uint8Array(below(40))),
  ];
  for (let i = 1 + below(10); i > 0; i--) {
    frames.push(kinds[below(kinds.length)]?.() ?? settings());
  }
  const bytes = Buffer.concat(frames);
  for (let changes = below(2); changes > 0; changes--) {
    bytes[below(bytes.length)] = below(256);
  }
  return bytes;
}

Deno.test("Upstream settles each request whatever an HTTP/2 server says, or leaves out", async () => {
  const random = createRandom(9113);
  const below = (limit: number) => Math.floor(random() * limit);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const connection of listener) {
      using _closed = connection;
      const peer = new Http2Client(connection);
      await peer.skip(PREFACE.length);
      await peer.send(settings());
      // The second request comes with the first, unless that one is repeated.
      for (let seen = -1; seen !== FRAME_TYPES.headers;) {
        seen = (await peer.next())?.type ?? FRAME_TYPES.headers;
      }
      await peer.send(conversation(below)).catch(() => {});
    }
  })();

  for (let round = 0; round < ROUNDS; round++) {
    using upstream = upstreamAt(listener.addr.port, { protocol: "http2" });
    const ends = await Promise.allSettled([
      exchange(upstream),
      exchange(upstream),
    ]);
    for (const end of ends) {
      if (end.status === "rejected") assert(end.reason instanceof GatewayError);
      else assert.match(end.value, /^200 (abc?|bc?|c|)*$/);
    }
  }

  listener.close();
  await serving;
});
