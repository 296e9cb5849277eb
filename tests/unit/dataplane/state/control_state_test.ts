import assert from "node:assert/strict";
import { createLogger } from "../../../../src/base/log/log.ts";
import { parseLogFilter } from "../../../../src/base/log/log_filter.ts";
import { ControlState } from "../../../../src/dataplane/state/control_state.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

function createState() {
  const clock = new FakeClock();
  const logger = createLogger({
    write: () => {},
    clock,
    format: "text",
    filter: parseLogFilter("info"),
  });
  const settings = { egress: { allow: [], deny: [] } };
  return {
    clock,
    state: new ControlState({
      clock,
      logger,
      settings,
      count: 2,
    }, () => {}),
  };
}

Deno.test("all workers together register eight clients a second, and a worker that ends leaves its turns", async () => {
  const { clock, state } = createState();
  const [one, two] = [state.connect(), state.connect()];
  const begin = (worker: typeof one) =>
    worker.handlers.beginRegistration("https://idp.example.com");

  const begun = Array.from(
    { length: 10 },
    (_, at) => begin(at % 2 === 0 ? one : two),
  );
  assert.equal(begun.filter((hasBegun) => hasBegun).length, 8);
  clock.advance(1000);
  assert.equal(begin(one), false);

  two.end();
  assert.equal(begin(one), true);
  await state.close();
});

Deno.test("a code that one worker has used is used for all, and they have one secret", async () => {
  const { state } = createState();
  const [one, two] = [state.connect(), state.connect()];

  assert.equal(await one.handlers.spendCode("code", 2 ** 50), true);
  assert.equal(await two.handlers.spendCode("code", 2 ** 50), false);
  await one.handlers.endGrant({ id: "grant", startedAt: 0 }, 2 ** 50);
  assert.equal(await two.handlers.isGrantEnded("grant"), true);
  assert.equal(
    await one.handlers.loginSecret(),
    await two.handlers.loginSecret(),
  );
  await state.close();
});

Deno.test("a request to a limiter that is closed gets no verdict", async () => {
  const { state } = createState();
  const { handlers } = state.connect();

  const { verdict } = await handlers.admit("unknown", []);

  assert.equal(verdict, "failed");
  await state.close();
});
