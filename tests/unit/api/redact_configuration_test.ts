import assert from "node:assert/strict";
import { headerValue, httpUrl } from "../../../src/api/schema/scalars.ts";
import * as s from "../../../src/api/schema/schema.ts";
import { createRedaction } from "../../../src/api/redact_configuration.ts";

const redact = createRedaction({
  sensitiveHeaders: new Set(["x-key"]),
  environment: ["from-the-environment"],
});

const login = s.variant("type", [
  s.object({
    type: s.literal("Password"),
    password: s.field("Password of the user.", s.optional(s.secret())),
    user: s.string(),
  }),
  s.object({ type: s.literal("Key"), keys: s.list(s.secret()) }),
]);

Deno.test("secrets are redacted wherever the schema has them", () => {
  const schema = s.refine(
    s.object({
      logins: s.field("Logins.", s.optional(s.list(login))),
      byName: s.optional(s.map(s.string(), s.object({ pin: s.secret() }))),
      either: s.optional(s.union([s.string(), s.object({ pin: s.secret() })])),
      all: s.optional(s.withPrivacy("secret", s.list(s.string()))),
      plain: s.withDefault(s.nullable(s.secret()), "x"),
    }),
    s.atLeastOne("logins", "byName"),
  );

  const shown = redact(schema, {
    logins: [
      { type: "Password", password: "s3cret", user: "anna" },
      { type: "Key", keys: ["s3cret", "another"] },
    ],
    byName: { anna: { pin: "1234" } },
    either: { pin: "1234" },
    all: ["a", "b"],
    plain: "1234",
  });

  assert.deepEqual(shown, {
    logins: [
      { type: "Password", password: "<redacted>", user: "anna" },
      { type: "Key", keys: ["<redacted>", "<redacted>"] },
    ],
    byName: { anna: { pin: "<redacted>" } },
    either: { pin: "<redacted>" },
    all: "<redacted>",
    plain: "<redacted>",
  });
});

Deno.test("the name of a field makes nothing secret", () => {
  const schema = s.object({ keys: s.list(s.string()), users: s.string() });
  const value = { keys: ["a"], users: "anna" };

  assert.deepEqual(redact(schema, value), value);
});

Deno.test("values of sensitive headers, credentials in URLs and texts of the environment are redacted", () => {
  const header = s.object({ name: s.string(), value: headerValue });
  const schema = s.object({ set: s.list(header), url: httpUrl });

  const shown = redact(schema, {
    set: [
      { name: "X-Key", value: "abc" },
      { name: "x-team", value: "the from-the-environment team" },
      { name: "X-Upstream-Key", value: "abc" },
      { name: "x-monkey", value: "abc" },
    ],
    url: "https://anna:pw@idp.example/?token=abc&page=1",
  });

  assert.deepEqual(shown, {
    set: [
      { name: "X-Key", value: "<redacted>" },
      { name: "x-team", value: "the <redacted> team" },
      { name: "X-Upstream-Key", value: "<redacted>" },
      { name: "x-monkey", value: "abc" },
    ],
    url: "https://<redacted>@idp.example/?token=<redacted>&page=1",
  });
});
