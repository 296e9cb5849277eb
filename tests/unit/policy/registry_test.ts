import assert from "node:assert/strict";
import type { PolicyOptions } from "../../../src/policy/policy_kind.ts";
import { inertServices } from "../../../src/policy/policy_services.ts";
import {
  backendPhaseKinds,
  gatewayPhaseKinds,
  routePhaseKinds,
} from "../../../src/policy/registry.ts";
import { answer, context } from "./exchange.ts";

Deno.test("route phase runs its kinds in the documented order", () => {
  assert.deepEqual(routePhaseKinds.map(({ kind }) => kind), [
    "cors",
    "jwtAuthentication",
    "basicAuthentication",
    "apiKeyAuthentication",
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
  assert.deepEqual(gatewayPhaseKinds.map(({ kind }) => kind), [
    "cors",
    "jwtAuthentication",
    "basicAuthentication",
    "apiKeyAuthentication",
    "authorization",
    "transformation",
  ]);
});

Deno.test("backend phase transforms before it modifies headers", () => {
  assert.deepEqual(backendPhaseKinds.map(({ kind }) => kind), [
    "transformation",
    "requestHeaderModifier",
    "responseHeaderModifier",
  ]);
});

Deno.test("authorization and rate limits of every level apply, other kinds replace", () => {
  const accumulating = routePhaseKinds.filter(({ merge }) =>
    merge === "accumulate"
  );
  assert.deepEqual(accumulating.map(({ kind }) => kind), [
    "authorization",
    "rateLimit",
  ]);
});

const options: PolicyOptions = {
  listenerPort: 8080,
  readFile: () => "",
  hide: (text) => text,
  services: inertServices(),
  connectionOf: () => undefined,
};

Deno.test("a kind that is not configured makes no policy", () => {
  for (const kind of routePhaseKinds) {
    assert.equal(kind.create({}, options), undefined);
    assert.deepEqual(kind.check({}, options), []);
  }
});

Deno.test("direct response answers with its text", async () => {
  const kind = routePhaseKinds.find((each) => each.kind === "directResponse");
  const policy = kind?.create({
    directResponse: { status: 418, body: "no coffee" },
  }, options);
  assert.ok(policy);
  const { status, headers, body } = await answer(policy, context({}));
  assert.equal(status, 418);
  assert.equal(headers.get("content-type"), "text/plain; charset=utf-8");
  assert.equal(new TextDecoder().decode(await body?.read()), "no coffee");
});
