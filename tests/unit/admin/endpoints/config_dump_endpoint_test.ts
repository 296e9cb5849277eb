import assert from "node:assert/strict";
import { dumpConfig } from "../../../../admin/endpoints/config_dump_endpoint.ts";
import { FakeTarget } from "../fake_target.ts";

Deno.test("dumpConfig shows the active configuration under the documented keys", async () => {
  const response = await dumpConfig(new FakeTarget());

  const dump = await response.json();
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.deepEqual(Object.keys(dump), [
    ...[
      "binds",
      "listeners",
      "routes",
      "backends",
      "endpoints",
      "lookups",
      "cooldowns",
      "workloads",
      "services",
      "policies",
      "keySets",
      "providerMetadata",
      "budgets",
      "version",
      "config",
    ],
    ...["hash", "appliedAt", "lastRejected"],
  ]);
  assert.deepEqual(dump.listeners, [{ key: "http" }]);
  assert.deepEqual(dump.version, { version: "1.2.3" });
  assert.equal(dump.hash, "abc");
  assert.equal(dump.lastRejected, null);
});

Deno.test("dumpConfig shows the last rejected configuration", async () => {
  const target = new FakeTarget();
  const lastRejected = {
    hash: "def",
    at: "2026-01-02T00:00:00.000Z",
    diagnostics: ["a.yaml:1:1: error: no"],
  };
  target.configuration = { ...target.configuration, lastRejected };

  const dump = await (await dumpConfig(target)).json();

  assert.deepEqual(dump.lastRejected, lastRejected);
});

Deno.test("dumpConfig redacts the secrets of the settings", async () => {
  const target = new FakeTarget({
    adminToken: "hunter2",
    kv: { url: "https://user:hunter2@kv.example.com/path@x?token=hunter2" },
  });

  const text = await (await dumpConfig(target)).text();

  assert.doesNotMatch(text, /hunter2/);
  assert.match(text, /"adminToken": "<redacted>"/);
  assert.match(
    text,
    /"url": "https:\/\/<redacted>@kv\.example\.com\/path@x\?token=<redacted>"/,
  );
});

Deno.test("dumpConfig redacts the password of Redis", async () => {
  const target = new FakeTarget({
    kv: { redis: "redis://user:hunter2@redis.example.com:6379/1" },
  });

  const text = await (await dumpConfig(target)).text();

  assert.doesNotMatch(text, /hunter2/);
  assert.match(text, /"redis:\/\/<redacted>@redis\.example\.com:6379\/1"/);
});
