import assert from "node:assert/strict";
import {
  createSensitiveHeaders,
  redactHeaders,
} from "../../../src/telemetry/redaction.ts";

Deno.test("redactHeaders hides sensitive values whatever the case of their names", () => {
  const sensitive = createSensitiveHeaders(["X-Api-Key"]);

  const shown = redactHeaders([
    ["Authorization", "Bearer t"],
    ["PROXY-AUTHORIZATION", "Basic t"],
    ["cookie", "s=1"],
    ["Set-Cookie", "s=1"],
    ["x-api-key", "k"],
    ["Accept", "*/*"],
    ["authorization", ""],
  ], sensitive);

  assert.deepEqual(shown, [
    ["Authorization", "<redacted>"],
    ["PROXY-AUTHORIZATION", "<redacted>"],
    ["cookie", "<redacted>"],
    ["Set-Cookie", "<redacted>"],
    ["x-api-key", "<redacted>"],
    ["Accept", "*/*"],
    ["authorization", "<redacted>"],
  ]);
});
