import assert from "node:assert/strict";
import { Cancellation } from "../../../src/base/cancellation.ts";
import { describeError } from "../../../src/base/errors.ts";
import { HeaderList } from "../../../src/http/header_list.ts";
import type { RequestMessage } from "../../../src/http/message.ts";
import type {
  AttemptTarget,
  Destination,
} from "../../../src/proxy/balancing/attempt_target.ts";
import { MemoryCountedOutputs } from "../../../src/llm/batch/counted_outputs.ts";
import { PriceBook } from "../../../src/llm/cost/price_book.ts";
import { Mirrors } from "../../../src/proxy/mirrors.ts";
import type { Backend } from "../../../src/snapshot/backend.ts";
import { RecordedLog } from "../../harness/telemetry/recorded_log.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

const shadow: Backend = {
  key: "default/shadow",
  name: "shadow",
  host: "127.0.0.1",
  port: 9,
  protocol: "auto",
  tls: undefined,
};

/** An upstream that answers only when the request is given up, with why. */
const silentUpstream: AttemptTarget = {
  label: "127.0.0.1:9",
  send: (_request, _body, cancellation) =>
    new Promise((_resolve, reject) => cancellation.onCancel(reject)),
};

const destination: Destination = {
  retries: undefined,
  prepare: () => undefined,
  choose: () => silentUpstream,
  hasAnother: () => false,
  connectFailed() {},
};

function request(): RequestMessage {
  return {
    version: "1.1",
    method: "GET",
    scheme: "http",
    authority: "example.com",
    target: "/",
    headers: new HeaderList(),
    body: undefined,
    upgrade: undefined,
    expectsContinue: false,
    source: { address: "127.0.0.1", port: 4711 },
    serverName: undefined,
    cancellation: new Cancellation(),
    sendInformational() {},
  };
}

const context = { requestId: "1", route: "r" };

function startMirrors() {
  const clock = new FakeClock();
  const failures: string[] = [];
  const mirrors = new Mirrors({
    upstreams: { get: () => destination },
    tokens: {
      get: () => Promise.reject(new Error("no tokens")),
      replace: () => Promise.resolve(undefined),
      newer: () => Promise.resolve(undefined),
      insufficient: () => Promise.reject(new Error("no tokens")),
    },
    clock,
    random: () => 0.5,
    onFailure: (_backend, error) => failures.push(describeError(error)),
    llm: {
      clock,
      prices: new PriceBook({
        models: [],
        unknownModel: { input: 0, output: 0 },
      }, { clock, log: new RecordedLog() }),
      counted: new MemoryCountedOutputs(),
      media: { fetch: () => Promise.resolve(new Map()) },
      maxBufferBytes: 1024,
    },
    onAnswer: () => {},
  });
  return { clock, failures, mirrors };
}

function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("Mirrors drop copies beyond the concurrency limit", async () => {
  const { failures, mirrors } = startMirrors();

  for (let i = 0; i < 260; i++) {
    mirrors.send(request(), [{ backend: shadow, fraction: 1 }], context);
  }
  await settled();

  assert.deepEqual(failures, Array(4).fill("More than 256 copies under way"));
});

Deno.test("Mirrors cancel a copy that takes too long, and then accept others", async () => {
  const { clock, failures, mirrors } = startMirrors();
  mirrors.send(request(), [{ backend: shadow, fraction: 1 }], context);

  clock.advance(30_000);
  await settled();

  assert.deepEqual(failures, [
    'No response from "default/shadow" within 30000 ms',
  ]);
});

Deno.test("Mirrors copy the configured fraction of requests", async () => {
  const { clock, failures, mirrors } = startMirrors();

  mirrors.send(request(), [
    { backend: shadow, fraction: 0.4 },
    { backend: shadow, fraction: 0.6 },
  ], context);
  clock.advance(30_000);
  await settled();

  assert.equal(failures.length, 1);
});
