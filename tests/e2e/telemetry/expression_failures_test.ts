import assert from "node:assert/strict";
import { metricsText } from "../../harness/telemetry/metrics_text.ts";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { createTokenIssuer, jwksOf } from "../../harness/login/tokens.ts";

const failing = "request.headers['x-missing']";

Deno.test("metrics count expressions that have no value, by policy and route", async () => {
  const folder = await Deno.makeTempDir();
  const set = (name: string) => ({ set: [{ name, value: failing }] });
  try {
    await using gateway = await startTestGateway({
      config: { kv: { path: `${folder}/limits.db` } },
      routes: [
        route("limited", {
          rateLimit: {
            local: [{
              requests: 9,
              unit: "Hours",
              key: failing,
              when: `${failing} == 'a'`,
            }],
            global: {
              domain: "d",
              failureMode: "Open",
              descriptors: [{
                requests: 9,
                unit: "Hours",
                entries: [{ key: "user", value: failing }],
              }],
            },
          },
        }),
        route("ruled", {
          authorization: {
            policy: { matchExpressions: ["true", `${failing} == 'a'`] },
          },
        }),
        route("changed", {
          transformation: {
            request: { ...set("x-a"), body: failing },
            response: set("x-b"),
          },
        }),
        route("lost", { transformation: { response: set(":status") } }),
        route("well", {
          authorization: { policy: { matchExpressions: ["false"] } },
        }),
      ],
    });
    for (
      const path of ["limited", "ruled", "ruled", "changed", "lost", "well"]
    ) {
      await fetchRaw(`${gateway.origin}/${path}`, {
        method: "POST",
        body: "a",
      });
    }

    assert.deepEqual(countsOf(gateway.gateway), [
      ["rateLimit", "limited", 3],
      ["authorization", "ruled", 2],
      ["transformation", "changed", 3],
      ["transformation", "lost", 1],
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an expression without a value is counted for every request with the same token", async () => {
  const issuer = await createTokenIssuer();
  await using gateway = await startTestGateway({
    routes: [route("limited", {
      jwtAuthentication: {
        providers: [{
          issuer: issuer.issuer,
          audiences: ["https://gw.example/mcp"],
          jwks: { inline: jwksOf(issuer) },
        }],
      },
      rateLimit: { local: [{ requests: 9, unit: "Hours", key: "jwt.team" }] },
    })],
  });
  const authorization = `Bearer ${await issuer.sign({})}`;
  for (let i = 0; i < 3; i++) {
    await fetchRaw(`${gateway.origin}/limited`, { headers: { authorization } });
  }

  assert.deepEqual(countsOf(gateway.gateway), [["rateLimit", "limited", 3]]);
});

/** Policy, route and how often. */
function countsOf(
  { metrics }: Gateway,
): readonly (readonly [policy: string, route: string, count: number])[] {
  const names = new Set(["gateway_expression_failures_total"]);
  const samples = metricsText(metrics.registry, names).matchAll(
    /\{policy="(.*)",route="(.*)"\} (\d+)/g,
  );
  return [...samples].map((
    [, policy = "", route = "", count],
  ) => [policy, route, Number(count)]);
}

/** A route that answers by itself. */
function route(name: string, policies: Readonly<Record<string, unknown>>) {
  return {
    name,
    matches: [{ path: { type: "PathPrefix", value: `/${name}` } }],
    policies: { ...policies, directResponse: { status: 200, body: "done" } },
  };
}
