import assert from "node:assert/strict";
import { formatDiagnostics } from "../../../../src/config/diagnostics/located_diagnostic.ts";
import { excerpt } from "../../../../src/config/diagnostics/excerpt.ts";
import { processorTime } from "../../../harness/time/processor_time.ts";

for (
  const [text, at, shown] of [
    [
      "tls: { cert: tls/api.crt, key: tls/api.key }",
      "tls/api.key",
      "tls: { cert: tls/api.crt, key: tls/api.key }",
    ],
    ["    key: ./a.pem", "key", "    key: ./a.pem"],
    ["  key: s3cr3t", "s3cr3t", "  key: ***"],
    [
      "adminToken: s3cr3t, more: s3cr3t",
      "adminToken",
      "adminToken: ***, more: ***",
    ],
    [
      '- { name: Authorization, value: "Bearer s3cr3t", x: y }',
      "x:",
      "- { name: Authorization, value: ***, x: *** }",
    ],
    ["password: s3cr3t: s3cr3t", "password", "password: ***: ***"],
    ['token: "s3cr3t, s3cr3t', "token", "token: ***"],
    ["token: 's3cr3t' s3cr3t # s3cr3t", "token", "token: *** *** # ***"],
    ["secret: [s3cr3t, {a: s3cr3t}]", "secret", "secret: [***, {a: ***}]"],
    [
      "local: { tokens: 12345, requests: 3 }",
      "3 }",
      "local: { tokens: ***, requests: 3 }",
    ],
    ["password: ${DB}", "password", "password: ${DB}"],
    ["hostname: a.example", "a.example", "hostname: a.example"],
  ] as const
) {
  Deno.test(`excerpt shows ${shown}`, () => {
    const column = text.indexOf(at) + 1;

    const [line = "", caret = ""] = excerpt(
      { line: 7, column },
      "",
      text,
    ).split("\n");

    assert.equal(line, `  7 | ${shown}`);
    const pointed = line.slice(caret.indexOf("^"));
    assert.ok(pointed.startsWith(at) || pointed.startsWith("***"), pointed);
  });
}

Deno.test("excerpt masks the values of secret fields", () => {
  const text = '  - "ann:$2y$05$hash"';

  assert.equal(
    excerpt(
      { line: 7, column: 5 },
      "basicAuthentication.users[0]",
      text,
    ),
    "  7 |   - ***\n    |     ^\n",
  );
});

Deno.test("excerpt omits PEM", () => {
  assert.equal(
    excerpt({ line: 7, column: 1 }, "", "key: -----BEGIN X-----"),
    "",
  );
});

for (
  const field of ["local[0].unit", "global.descriptors[0].unit", "headers"]
) {
  Deno.test(`excerpt shows tokens and keys of rate limits beside ${field}, and masks credentials`, () => {
    const limit = "[{ tokens: 12345, unit: minute, key: jwt.sub }], headers: a";
    const path = `routes[0].policies.rateLimit.${field}`;
    const shownOf = (text: string) =>
      excerpt({ line: 7, column: 1 }, path, text).split("\n")[0];

    assert.equal(shownOf(limit), `  7 | ${limit}`);
    for (
      const secret of [
        "{ apiKeyAuthentication: { keys: [{ key: s3cr3t }] } }",
        "{ name: x-token, value: s3cr3t }",
      ]
    ) {
      const shown = shownOf(`${secret}, ${limit}`) ?? "s3cr3t";
      assert.doesNotMatch(shown, /s3cr3t/);
    }
  });
}

for (
  const [text, shown] of [
    [
      `authorization: { policy: { matchExpressions: ["'a' in token.scp"] } }`,
      `authorization: { policy: { matchExpressions: ["'a' in token.scp"] } }`,
    ],
    [
      `- "request.headers['authorization'] == 's3cr3t'"`,
      "- ***",
    ],
    [
      "authorization: { action: allow }, keys: [{ key: s3cr3t }]",
      "authorization: { action: *** }, keys: [{ key: *** }]",
    ],
  ] as const
) {
  Deno.test(`excerpt shows an authorization rule as ${shown}`, () => {
    const path = "routes[0].policies.authorization.policy.matchExpressions[0]";

    const [line] = excerpt({ line: 7, column: 3 }, path, text)
      .split("\n");

    assert.equal(line, `  7 | ${shown}`);
  });
}

Deno.test("excerpt stops at an unclosed quote, which may begin a secret", () => {
  const at = { line: 7, column: 5 };

  assert.equal(
    excerpt(at, "", '  - "anna:s3cr3t'),
    '  7 |   - "\n    |     ^\n',
  );
});

Deno.test("excerpt takes time proportional to the length of the line", () => {
  const lineOf = (fields: number) =>
    `{ token: s3cr3t, ${'"path": "/a", "port": 80, '.repeat(fields)} }`;
  const timeOf = (fields: number) =>
    Math.min(...[1, 2, 3].map(() =>
      processorTime(() => {
        const text = lineOf(fields);
        const column = text.length - 20;
        excerpt({ line: 1, column }, "", text);
      })
    ));

  const short = timeOf(1_000);
  const long = timeOf(8_000);

  assert.ok(long < 24 * short + 200, `${long} ms after ${short} ms`);
});

Deno.test("formatDiagnostics shows a very long line once for all its problems", () => {
  const text = `{ ${'"path": "/a", '.repeat(1_000)} }`;
  const place = {
    file: "f",
    line: 1,
    severity: "error",
    message: "no",
  } as const;

  const report = formatDiagnostics([
    { ...place, column: 3, path: "a" },
    { ...place, column: 17, path: "b" },
  ], [{ name: "f", text }]);

  assert.deepEqual(
    report.split("\n").map((line) => line.slice(0, 20)),
    [
      "f:1:3: error: a: no",
      '  1 | { "path": "/a"',
      "    |   ^",
      "f:1:17: error: b: no",
      "",
    ],
  );
});
