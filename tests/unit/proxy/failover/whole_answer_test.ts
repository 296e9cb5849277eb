import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { GatewayError } from "../../../../src/base/errors.ts";
import type { Body } from "../../../../src/http/body.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";
import { awaitAnswer } from "../../../../src/proxy/failover/whole_answer.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

type Step = string | GatewayError | Promise<Uint8Array | undefined>;

/** A body that makes these steps. */
class SteppedBody implements Body {
  readonly length = undefined;
  readonly trailers = undefined;
  readonly #steps: Step[];
  cancelled: unknown;

  constructor(...steps: Step[]) {
    this.#steps = steps;
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const step = this.#steps.shift();
    if (step instanceof GatewayError) return Promise.reject(step);
    return typeof step === "string" ? new TextEncoder().encode(step) : step;
  }

  cancel(reason: unknown): void {
    this.cancelled = reason;
  }
}

function open(body: Body) {
  const clock = new FakeClock();
  const response: { status: number; headers: HeaderList; body: Body } = {
    status: 200,
    headers: new HeaderList(),
    body,
  };
  const cancellation = new Cancellation();
  const held = undefined;
  const waiting = awaitAnswer(response, { held, clock, cancellation });
  const read = async () => {
    let text = "";
    for (;;) {
      const chunk = await response.body.read();
      if (chunk === undefined) return text;
      text += new TextDecoder().decode(chunk);
    }
  };
  return { clock, response, waiting, read };
}

const broken = new GatewayError("upstream_closed", "upstream", "broken off");

Deno.test("an answer that breaks off has failed, and a whole one passes unchanged", async () => {
  const failed = open(new SteppedBody('{"a"', broken));
  await assert.rejects(failed.waiting, /broken off/);

  const whole = open(
    new SteppedBody('{"a"', Promise.resolve(new TextEncoder().encode(":1}"))),
  );
  await whole.waiting;
  assert.equal(await whole.read(), '{"a":1}');
  assert.equal(whole.clock.pending, 0);
});

Deno.test("an answer of more than a mebibyte is passed on as it comes", async () => {
  const long = "x".repeat(1024 * 1024 + 1);
  const { waiting, read } = open(new SteppedBody(long, broken));

  await waiting;

  await assert.rejects(read(), /broken off/);
});

Deno.test("an answer that takes five seconds after its head is passed on as it comes", async () => {
  const rest = Promise.withResolvers<Uint8Array>();
  const { clock, waiting, read } = open(
    new SteppedBody("\n\n", rest.promise, "}"),
  );
  clock.advance(5000);
  await waiting;
  const text = read();
  rest.resolve(new TextEncoder().encode('{"a":1'));

  assert.equal(await text, '\n\n{"a":1}');
});
