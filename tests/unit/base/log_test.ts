import assert from "node:assert/strict";
import { createLogger, type Log } from "../../../src/base/log/log.ts";
import { parseLogFilter } from "../../../src/base/log/log_filter.ts";
import type { LogFormat } from "../../../src/base/log/log_text.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

function createTestLogger(
  { filter = "info", format = "text" as LogFormat } = {},
) {
  const lines: string[] = [];
  const logger = createLogger({
    write: (line) => lines.push(line),
    clock: new FakeClock(),
    format,
    filter: parseLogFilter(filter),
  });
  return { logger, lines };
}

Deno.test("Logger writes time, level, module, message and fields", () => {
  const { logger, lines } = createTestLogger();

  logger.module("proxy").info("Listening", {
    port: 3000,
    address: "::",
    tls: false,
    nothing: undefined,
  });

  assert.deepEqual(lines, [
    "2026-01-01T00:00:00.000Z\tinfo\tproxy\tListening port=3000 address=:: tls=false\n",
  ]);
});

Deno.test("Logger writes JSON with the same content", () => {
  const { logger, lines } = createTestLogger({ format: "json" });

  logger.module("proxy").warn('Say "hi"', { port: 3000, list: [1] });

  assert.deepEqual(lines.map((line) => JSON.parse(line)), [{
    level: "warn",
    time: "2026-01-01T00:00:00.000Z",
    scope: "proxy",
    message: 'Say "hi"',
    port: 3000,
    list: "[1]",
  }]);
});

Deno.test("Logger writes the members of an object as fields of their own", () => {
  const user = { issuer: "https://idp.example", subject: "anna", role: null };
  for (const format of ["text", "json"] as const) {
    const { logger, lines } = createTestLogger({ format });

    logger.module("admin").info("Change", { user, groups: ["a"] });

    assert.match(
      lines.join(""),
      format === "text"
        ? /\tChange user\.issuer=https:\/\/idp\.example user\.subject=anna user\.role=null groups=\S+\n$/
        : /"user\.issuer":"https:\/\/idp\.example","user\.subject":"anna"/,
    );
  }
});

Deno.test("Logger writes an error with its causes", () => {
  const { logger, lines } = createTestLogger();

  logger.module("proxy").error("Cannot connect", {
    error: new Error("dial", { cause: new Error("refused") }),
  });

  assert.match(lines.join(""), /\tCannot connect error="dial: refused"\n$/);
});

const hostile = [
  { name: "a line break", value: "a\nb", written: '"a\\nb"' },
  { name: "a carriage return", value: "a\rb", written: '"a\\rb"' },
  {
    name: "a terminal sequence",
    value: "\u001b[31m",
    written: '"\\u001b[31m"',
  },
  { name: "a C1 control", value: "\u009b31m", written: '"\\u009b31m"' },
  { name: "a line separator", value: "a\u2028b", written: '"a\\u2028b"' },
  {
    name: "a bidirectional override",
    value: "a\u202eb",
    written: '"a\\u202eb"',
  },
  {
    name: "a tag character outside the basic plane",
    value: "\u{e0041}",
    written: '"\\udb40\\udc41"',
  },
  { name: "a quote", value: 'a"b', written: '"a\\"b"' },
  {
    name: "a forged field",
    value: "a level=error",
    written: '"a level=error"',
  },
  { name: "an equals sign", value: "a=b", written: '"a=b"' },
  { name: "nothing", value: "", written: '""' },
];

for (const { name, value, written } of hostile) {
  Deno.test(`Logger keeps ${name} inside its field`, () => {
    const { logger, lines } = createTestLogger();

    logger.module("proxy").info("Message", { value });

    assert.deepEqual(lines, [
      `2026-01-01T00:00:00.000Z\tinfo\tproxy\tMessage value=${written}\n`,
    ]);
  });
}

Deno.test("Logger keeps a line break in a message inside its line", () => {
  const { logger, lines } = createTestLogger();

  logger.module("proxy").info("first\nsecond\ttab");

  assert.deepEqual(lines, [
    "2026-01-01T00:00:00.000Z\tinfo\tproxy\tfirst\\nsecond\\ttab\n",
  ]);
});

Deno.test("Logger applies a changed filter to existing logs", () => {
  const { logger, lines } = createTestLogger({ filter: "warn,http=off" });
  const proxy = logger.module("proxy");
  const http = logger.module("http");

  writeAll(proxy);
  writeAll(http);
  logger.setFilter(parseLogFilter("error,proxy=trace"));
  writeAll(proxy);
  writeAll(http);

  assert.deepEqual(
    lines.map((line) => line.split("\t").slice(1, 3).join(" ")),
    [
      ...["error proxy", "warn proxy"],
      ...[
        "error proxy",
        "warn proxy",
        "info proxy",
        "debug proxy",
        "trace proxy",
      ],
      "error http",
    ],
  );
  assert.equal(proxy.isEnabled("trace"), true);
  assert.equal(http.isEnabled("warn"), false);
  assert.equal(logger.module("proxy"), proxy);
});

function writeAll(log: Log): void {
  log.error("e");
  log.warn("w");
  log.info("i");
  log.debug("d");
  log.trace("t");
}
