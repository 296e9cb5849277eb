import assert from "node:assert/strict";
import { readServerUrl } from "../../../../cli/mcp/doctor.ts";

for (
  const [text, url] of [
    ["localhost:3000", "http://localhost:3000/"],
    ["localhost:3000/mcp", "http://localhost:3000/mcp"],
    ["[::1]:3000/mcp", "http://[::1]:3000/mcp"],
    ["https://localhost:3000/mcp", "https://localhost:3000/mcp"],
    ["localhost.example.com/mcp", "https://localhost.example.com/mcp"],
    ["mcp.example.com/mcp", "https://mcp.example.com/mcp"],
  ] as const
) {
  Deno.test(`readServerUrl reads ${text} as ${url}`, () => {
    assert.equal(readServerUrl(text), url);
  });
}
