import assert from "node:assert/strict";
import { createSensitiveHeaders } from "../../../src/base/redaction.ts";

Deno.test("createSensitiveHeaders adds configured names in any case to those that always are", () => {
  const sensitive = createSensitiveHeaders(["X-Session"]);

  assert.deepEqual([...sensitive].sort(), [
    "api-key",
    "authorization",
    "cookie",
    "proxy-authorization",
    "set-cookie",
    "x-api-key",
    "x-goog-api-key",
    "x-session",
  ]);
});
