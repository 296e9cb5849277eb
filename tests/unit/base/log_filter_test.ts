import assert from "node:assert/strict";
import {
  formatLogFilter,
  LogFilterError,
  parseLogFilter,
  thresholdFor,
} from "../../../src/base/log/log_filter.ts";

const readable = [
  { text: "debug", canonical: "debug" },
  { text: "info,proxy=debug,http=off", canonical: "info,http=off,proxy=debug" },
  { text: "proxy:trace", canonical: "info,proxy=trace" },
  { text: " warn , proxy = debug ", canonical: "warn,proxy=debug" },
  { text: "proxy=debug,proxy=error", canonical: "info,proxy=error" },
  { text: "ERROR", canonical: "error" },
  { text: "off", canonical: "off" },
];

for (const { text, canonical } of readable) {
  Deno.test(`parseLogFilter parses "${text}" as "${canonical}"`, () => {
    assert.equal(formatLogFilter(parseLogFilter(text)), canonical);
  });
}

const unreadable = [
  { text: "", part: "" },
  { text: "loud", part: "loud" },
  { text: "info,proxy", part: "proxy" },
  { text: "info,proxy=loud", part: "proxy=loud" },
  { text: "info,=debug", part: "=debug" },
  { text: "info,,debug", part: "" },
  { text: "a b=debug", part: "a b=debug" },
  { text: "proxy=", part: "proxy=" },
];

for (const { text, part } of unreadable) {
  Deno.test(`parseLogFilter reports the invalid part of "${text}"`, () => {
    assert.throws(
      () => parseLogFilter(text),
      (error: unknown) =>
        error instanceof LogFilterError && error.part === part,
    );
  });
}

Deno.test("parseLogFilter keeps the levels of modules that the string does not name", () => {
  const before = parseLogFilter("warn,http=off");

  const after = parseLogFilter("proxy=debug", before);

  assert.equal(formatLogFilter(after), "warn,http=off,proxy=debug");
});

Deno.test("parseLogFilter limits the number of modules", () => {
  const text = Array.from({ length: 101 }, (_, index) => `module${index}=debug`)
    .join(",");

  assert.throws(() => parseLogFilter(text), /at most 100 modules/);
});

Deno.test("thresholdFor uses the nearest parent module", () => {
  const filter = parseLogFilter("warn,proxy=debug,proxy.retry=off");

  assert.deepEqual(
    ["http", "proxy", "proxy.mirror", "proxy.retry", "proxy.retry.timer"].map((
      module,
    ) => thresholdFor(filter, module)),
    ["warn", "debug", "debug", "off", "off"],
  );
});
