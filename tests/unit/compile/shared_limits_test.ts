import assert from "node:assert/strict";
import { builtInPolicies } from "../../../src/policy/registry.ts";
import type { Settings } from "../../../src/api/settings.ts";
import { emptyResourceSet } from "../../../src/api/resources/resource_set.ts";
import { compile } from "../../../src/compile/compile.ts";
import { backend, diagnosticLines, gateway, policy } from "./resources.ts";

const targets = [{
  group: "gateway.networking.k8s.io",
  kind: "Gateway",
  name: "gw",
}];

/** Returns the problems of limits in a store, with backends `limits` and `old`, which uses HTTP/1.1. */
function problemsOf(store: unknown, kv?: Settings["kv"]): readonly string[] {
  const descriptors = [{
    requests: 1,
    unit: "Minutes",
    entries: [{ key: "user", value: "jwt.sub" }],
  }];
  const compiled = compile({
    ...emptyResourceSet,
    gateways: [gateway("gw")],
    gatewayBackends: [
      backend("limits"),
      backend("old", { protocol: "HTTP1" }),
    ],
    gatewayPolicies: [policy("p", targets, {
      traffic: { rateLimit: { global: { domain: "d", store, descriptors } } },
    })],
  }, {
    policies: builtInPolicies,
    readFile: () => "",
    hasStore: kv !== undefined,
  });
  return diagnosticLines(compiled);
}

const at = "error GatewayPolicy/default/p spec.traffic.rateLimit.global.store";

Deno.test("limits in a store need one that the process was started with", () => {
  assert.deepEqual(problemsOf("KV"), [
    `${at}: Cannot share limits: "config.kv" is not set; set it, such as {path: limits.db}, and restart the gateway`,
  ]);
  assert.deepEqual(problemsOf("KV", { path: "limits.db" }), []);
});

Deno.test("a rate limit service is a backend that exists and speaks HTTP/2", () => {
  const service = (name: string) => ({ service: { backendRef: { name } } });

  assert.deepEqual(problemsOf(service("limits")), []);
  assert.deepEqual(problemsOf(service("limit")), [
    `${at}.service.backendRef.name: Cannot find backend "default/limit" (limits?)`,
  ]);
  assert.deepEqual(problemsOf(service("old")), [
    `${at}.service.backendRef.name: Cannot use backend "default/old" as a rate limit service: expected HTTP/2`,
  ]);
  assert.deepEqual(problemsOf({ service: { host: "10.0.0.1:8081" } }), []);
});

Deno.test("keys in a store need one that the process was started with", () => {
  const problems = (kv?: Settings["kv"]) =>
    diagnosticLines(compile({
      ...emptyResourceSet,
      gateways: [gateway("gw")],
      gatewayPolicies: [policy("p", targets, {
        traffic: { apiKeyAuthentication: { mode: "Strict", stored: true } },
      })],
    }, {
      policies: builtInPolicies,
      readFile: () => "",
      hasStore: kv !== undefined,
    }));

  assert.deepEqual(problems(), [
    'error GatewayPolicy/default/p spec.traffic.apiKeyAuthentication.stored: Cannot accept stored keys: "config.kv" is not set; set it, such as {path: keys.db}, and restart the gateway',
  ]);
  assert.deepEqual(problems({ redis: "redis://127.0.0.1" }), []);
});
