import assert from "node:assert/strict";
import type { PolicyOptions } from "../../../src/policy/contract/policy_kind.ts";
import { noopServices } from "../../../src/policy/noop_services.ts";
import { createRegistry } from "../../../src/policy/contract/policy_registry.ts";
import { builtInPolicies } from "../../../src/policy/registry.ts";
import { answer, context } from "./exchange.ts";

function namesIn(phase: "gateway" | "route" | "backend"): readonly string[] {
  return builtInPolicies.running(phase).map(({ name }) => name);
}

Deno.test("route phase runs its kinds in the documented order", () => {
  assert.deepEqual(namesIn("route"), [
    "cors",
    "jwtAuthentication",
    "oidc",
    "basicAuthentication",
    "apiKeyAuthentication",
    "extAuthz",
    "authorization",
    "rateLimit",
    "transformation",
    "requestHeaderModifier",
    "responseHeaderModifier",
    "urlRewrite",
    "requestRedirect",
    "directResponse",
  ]);
});

Deno.test("gateway phase runs CORS first", () => {
  assert.deepEqual(namesIn("gateway"), [
    "cors",
    "jwtAuthentication",
    "oidc",
    "basicAuthentication",
    "apiKeyAuthentication",
    "extAuthz",
    "authorization",
    "rateLimit",
    "transformation",
  ]);
});

Deno.test("backend phase transforms before it modifies headers", () => {
  assert.deepEqual(namesIn("backend"), [
    "transformation",
    "requestHeaderModifier",
    "responseHeaderModifier",
  ]);
});

Deno.test("authorization and rate limits of every level apply, other kinds replace", () => {
  const accumulating = builtInPolicies.kinds.filter(({ merge }) =>
    merge === "accumulate"
  );
  assert.deepEqual(accumulating.map(({ name }) => name), [
    "authorization",
    "rateLimit",
  ]);
});

const options: PolicyOptions = {
  owner: "default/policy",
  listenerPort: 8080,
  readFile: () => "",
  hide: (text) => text,
  services: noopServices(),
  connectionOf: () => undefined,
  readSecret: () => "",
};

Deno.test("a kind that is not configured makes no policy", () => {
  for (const kind of builtInPolicies.kinds) {
    assert.equal(kind.create({}, options), undefined);
    assert.deepEqual(kind.check({}, options), []);
  }
});

Deno.test("two kinds cannot have the same name or the same rejection", () => {
  const kind = builtInPolicies.kinds.find(({ name }) =>
    name === "jwtAuthentication"
  );
  assert.ok(kind);

  assert.throws(
    () => createRegistry([kind, kind]),
    /Cannot register kind of policy "jwtAuthentication" twice/,
  );
  assert.throws(
    () => createRegistry([kind, { ...kind, name: "other" }]),
    /Cannot register rejection "jwt_auth" twice/,
  );
});

Deno.test("direct response answers with its text", async () => {
  const kind = builtInPolicies.kinds.find((each) =>
    each.name === "directResponse"
  );
  const policy = kind?.create({
    directResponse: { status: 418, body: "no coffee" },
  }, options);
  assert.ok(policy);
  const { status, headers, body } = await answer(policy, context({}));
  assert.equal(status, 418);
  assert.equal(headers.get("content-type"), "text/plain; charset=utf-8");
  assert.equal(new TextDecoder().decode(await body?.read()), "no coffee");
});
