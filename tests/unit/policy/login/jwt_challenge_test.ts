import assert from "node:assert/strict";
import { HeaderList } from "../../../../src/http/header_list.ts";
import {
  bearerChallenge,
  rejectWith,
} from "../../../../src/policy/authentication/auth_responses.ts";
import {
  clientOrigin,
  resourceMetadataUrl,
} from "../../../../src/policy/login/endpoints/client_origin.ts";

Deno.test("bearerChallenge names the metadata first and leaves out what is not there", () => {
  assert.equal(bearerChallenge({}), "Bearer");
  assert.equal(
    bearerChallenge({
      resourceMetadata: "https://gw/x",
      error: "insufficient_scope",
      description: 'needs "a"\r\n',
      scope: "a b",
    }),
    `Bearer resource_metadata="https://gw/x", error="insufficient_scope", error_description="needs 'a'??", scope="a b"`,
  );
});

Deno.test("rejectWith answers JSON with the status of the error", () => {
  const { status, headers, body } = rejectWith("forbidden", "no", {
    "www-authenticate": undefined,
    "retry-after": "1",
  });

  assert.equal(status, 403);
  assert.deepEqual([...headers], [
    ["content-type", "application/json"],
    ["cache-control", "no-store"],
    ["retry-after", "1"],
  ]);
  const bytes = body?.read();
  assert(bytes instanceof Uint8Array);
  assert.equal(
    new TextDecoder().decode(bytes),
    '{"error":"forbidden","error_description":"no"}',
  );
});

Deno.test("clientOrigin believes forwarded fields of trusted proxies only", () => {
  const request = {
    scheme: "http",
    authority: "10.0.0.1:3000",
    headers: HeaderList.from([
      ["x-forwarded-proto", "https, http"],
      ["x-forwarded-host", "gw.example.com"],
    ]),
  };

  assert.equal(clientOrigin(request, false), "http://10.0.0.1:3000");
  assert.equal(clientOrigin(request, true), "https://gw.example.com");
});

for (const host of ['a"b/c', "gw.example.com:70000"]) {
  Deno.test(`clientOrigin ignores the forwarded host ${host}`, () => {
    const headers = HeaderList.from([["x-forwarded-host", host]]);

    assert.equal(
      clientOrigin({ scheme: "http", authority: "gw", headers }, true),
      "http://gw",
    );
  });
}

Deno.test("resourceMetadataUrl inserts the well-known part before the path", () => {
  const url = "https://gw/.well-known/oauth-protected-resource";

  assert.equal(resourceMetadataUrl("https://gw", "/mcp"), `${url}/mcp`);
  assert.equal(resourceMetadataUrl("https://gw", "/"), url);
});
