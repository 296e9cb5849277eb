import assert from "node:assert/strict";
import { HealthRecords } from "../../../../../src/proxy/balancing/health/health_records.ts";
import { FakeClock } from "../../../../harness/time/fake_clock.ts";

const rules = {
  intervalMs: 10_000,
  timeoutMs: 2000,
  unhealthyThreshold: 3,
  healthyThreshold: 2,
};

function createRecords() {
  const clock = new FakeClock();
  // 0.5 adds no jitter.
  return { clock, records: new HealthRecords(clock, () => 0.5) };
}

Deno.test("of several threads, one makes each check", () => {
  const { clock, records } = createRecords();

  assert.equal(records.take("a", rules).dueInMs, 0);
  assert.notEqual(records.take("a", rules).dueInMs, 0);
  records.report("a", rules, null);
  assert.equal(records.take("a", rules).dueInMs, 10_000);
  clock.advance(10_000);

  assert.equal(records.take("a", rules).dueInMs, 0);
  assert.notEqual(records.take("a", rules).dueInMs, 0);
});

Deno.test("the turn of a thread that has ended passes to another", () => {
  const { clock, records } = createRecords();
  records.take("a", rules);

  clock.advance(2999);
  assert.notEqual(records.take("a", rules).dueInMs, 0);
  clock.advance(1);

  assert.equal(records.take("a", rules).dueInMs, 0);
});

Deno.test("the first check decides alone, later ones by their number in a row", () => {
  const { records } = createRecords();
  const outcomes = (text: string) =>
    [...text].map((each) => {
      const { verdict, hasChanged } = records.report(
        "a",
        rules,
        each === "+" ? null : "no",
      );
      return `${verdict?.isPassing ? "+" : "-"}${hasChanged ? "!" : ""}`;
    }).join(" ");

  assert.equal(outcomes("-"), "-!");
  assert.equal(outcomes("+-+"), "- - -");
  assert.equal(outcomes("+"), "+!");
  assert.equal(outcomes("--+--"), "+ + + + +");
  assert.equal(outcomes("-"), "-!");
});

Deno.test("checks are spread by a tenth of the interval", () => {
  for (const [random, dueInMs] of [[0, 9000], [0.999, 10_998]] as const) {
    const records = new HealthRecords(new FakeClock(), () => random);
    const turn = records.report("a", rules, null);
    assert.equal(Math.round(turn.dueInMs), dueInMs);
  }
});

Deno.test("endpoints that nobody asks about are forgotten", () => {
  const { clock, records } = createRecords();
  records.report("a", rules, null);
  clock.advance(119_999);
  records.report("b", rules, null);
  assert.equal(records.size, 2);

  clock.advance(1);
  records.take("b", rules);

  assert.equal(records.size, 1);
});
