import assert from "node:assert/strict";
import type { Diagnostic } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { DiagnosticLog } from "../../../src/gateway/diagnostic_log.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { RecordedLog } from "../../harness/telemetry/recorded_log.ts";

function warning(message: string, namespace = "team"): Diagnostic {
  return {
    severity: "warning",
    message,
    path: `HTTPRoute/${namespace}/one: spec`,
    file: "settings.yaml",
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

Deno.test("a tenant whose problems change all the time gets a hundred lines a minute, and takes none of others", () => {
  const { log, clock, diagnostics } = open();
  for (let i = 0; i < 250; i++) diagnostics.logNew([warning(`no ${i}`)]);
  diagnostics.logNew([warning("of another", "other")]);
  assert.equal(log.lines.length, 101);
  assert.match(log.lines.at(-1) ?? "", /of another/);

  clock.advance(60_000);
  assert.match(log.lines.at(-1) ?? "", /"namespace":"team","notLogged":150/);
  diagnostics.logNew([warning("again")]);
  assert.match(log.lines.at(-1) ?? "", /again/);
});

Deno.test("problems of a file are logged each time", () => {
  const { log, diagnostics } = open();
  diagnostics.logAll([warning("one")]);
  diagnostics.logAll([warning("one")]);
  assert.equal(log.messages("warn").length, 2);
});
