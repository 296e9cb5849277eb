import assert from "node:assert/strict";
import { createSensitiveHeaders } from "../../../src/base/redaction.ts";

Deno.test("createSensitiveHeaders adds configured names in any case to those that always are", () => {
  const sensitive = createSensitiveHeaders(["X-Api-Key"]);

  assert.deepEqual([...sensitive].sort(), [
    "authorization",
    "cookie",
    "proxy-authorization",
    "set-cookie",
    "x-api-key",
  ]);
});
