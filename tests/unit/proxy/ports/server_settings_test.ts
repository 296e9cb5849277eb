import assert from "node:assert/strict";
import { limitsOf } from "../../../../src/proxy/ports/server_settings.ts";

Deno.test("limitsOf reads zero as unlimited", () => {
  const timeouts = { requestHeadersMs: 0, requestBodyMs: 0, idleMs: 0 };

  assert.deepEqual(limitsOf({ maxConnections: undefined, timeouts }), {
    requestHeadersTimeoutMs: Infinity,
    bodyIdleTimeoutMs: Infinity,
    keepAliveTimeoutMs: Infinity,
  });
});

Deno.test("limitsOf omits limits that a port does not set", () => {
  assert.deepEqual(limitsOf({ maxConnections: 7, timeouts: { idleMs: 5 } }), {
    maxConnections: 7,
    keepAliveTimeoutMs: 5,
  });
});
