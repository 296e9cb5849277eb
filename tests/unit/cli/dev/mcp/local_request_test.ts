import assert from "node:assert/strict";
import { isLocalRequest } from "../../../../../cli/dev/mcp/local_request.ts";

for (
  const { headers, expected } of [
    { headers: { host: "localhost" }, expected: true },
    { headers: { host: "localhost:3000" }, expected: true },
    {
      headers: { host: "127.0.0.1:3000", origin: "http://localhost:8080" },
      expected: true,
    },
    { headers: { host: "[::1]:3000" }, expected: true },
    { headers: { host: "gateway.test:3000" }, expected: true },
    { headers: { host: "evil.example" }, expected: false },
    { headers: { host: "localhost.evil.example" }, expected: false },
    { headers: { host: "localhost@evil.example" }, expected: false },
    {
      headers: { host: "localhost", origin: "http://evil.example" },
      expected: false,
    },
    { headers: { host: "localhost", origin: "null" }, expected: false },
    { headers: { host: "" }, expected: false },
    { headers: {}, expected: false },
  ]
) {
  Deno.test(`isLocalRequest is ${expected} for ${JSON.stringify(headers)}`, () => {
    assert.equal(
      isLocalRequest(new Headers(headers), ["gateway.test"]),
      expected,
    );
  });
}
