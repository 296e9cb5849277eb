import assert from "node:assert/strict";
import type { Diagnostic } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { DiagnosticLog } from "../../../src/gateway/diagnostic_log.ts";
import { FakeClock } from "../../harness/fake_clock.ts";
import { RecordedLog } from "../../harness/recorded_log.ts";

function warning(message: string): Diagnostic {
  return {
    severity: "warning",
    message,
    path: "",
    file: "default/route",
    line: 0,
    column: 0,
  };
}

function open() {
  const log = new RecordedLog();
  const clock = new FakeClock();
  return { log, clock, diagnostics: new DiagnosticLog(log, clock) };
}

Deno.test("a problem is logged when it appears, and not again while it lasts", () => {
  const { log, diagnostics } = open();
  diagnostics.logNew([warning("one")]);
  diagnostics.logNew([warning("one"), warning("two")]);
  diagnostics.logNew([warning("two")]);
  diagnostics.logNew([warning("one"), warning("two")]);

  assert.deepEqual(
    log.messages("warn").map((line) => line.split(" ").at(-1)),
    ["one", "two", "one"],
  );
});

Deno.test("a tenant whose problem changes all the time gets a hundred lines a minute, and the log says how many there were", () => {
  const { log, clock, diagnostics } = open();
  for (let i = 0; i < 250; i++) diagnostics.logNew([warning(`no ${i}`)]);
  assert.equal(log.messages("warn").length, 100);

  clock.advance(60_000);
  diagnostics.logNew([warning("another")]);
  assert.match(log.lines.at(-2) ?? "", /"notLogged":150/);
  assert.match(log.lines.at(-1) ?? "", /another/);
});

Deno.test("problems of a file are logged each time", () => {
  const { log, diagnostics } = open();
  diagnostics.logAll([warning("one")]);
  diagnostics.logAll([warning("one")]);
  assert.equal(log.messages("warn").length, 2);
});
