import assert from "node:assert/strict";
import { owningServer } from "../../../../src/mcp/names/owning_server.ts";

const docs = { name: "docs", prefix: "docs" };
const code = { name: "code", prefix: "git" };
const plain = { name: "plain", prefix: "" };

Deno.test("the prefix of a name or URI says its server", () => {
  const servers = [docs, code];
  assert.equal(owningServer(servers, "tool", "docs_find"), "docs");
  assert.equal(owningServer(servers, "prompt", "git_log"), "code");
  assert.equal(owningServer(servers, "resource", "git+file:///a"), "code");
  assert.equal(owningServer(servers, "resource", "ui://docs+page"), "docs");
  assert.equal(owningServer(servers, "tool", "find"), undefined);
});

Deno.test("a name that two servers could have has no server", () => {
  assert.equal(owningServer([plain], "tool", "docs_find"), "plain");
  assert.equal(owningServer([docs, plain], "tool", "docs_find"), undefined);
  assert.equal(
    owningServer([plain, { name: "b", prefix: "" }], "tool", "a"),
    undefined,
  );
  assert.equal(owningServer([docs, plain], "resource", "docs+a://b"), "docs");
  assert.equal(owningServer([docs, plain], "resource", "a://b"), "plain");
});
