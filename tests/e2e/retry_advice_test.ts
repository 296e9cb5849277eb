import assert from "node:assert/strict";
import { fetchRaw } from "../harness/fetch_raw.ts";
import { startTestGateway } from "../harness/gateway.ts";

/** The expression that the README gives for SDKs that would wait for an hour. */
function readmeExpression(): string {
  const readme = Deno.readTextFileSync(
    new URL("../../README.md", import.meta.url),
  );
  const [, name, value = ""] =
    /- name: (x-should-retry)\n\s+value: >-\n([^`]+?)\nroutes:/.exec(readme) ??
      [];
  assert.equal(name, "x-should-retry");
  return value.replace(/\s+/g, " ").trim();
}

function route(name: string, unit: string) {
  return {
    name,
    matches: [{ path: { type: "PathPrefix", value: `/${name}` } }],
    policies: {
      rateLimit: { local: [{ requests: 1, unit }] },
      directResponse: { status: 200, body: "ok" },
    },
  };
}

Deno.test("README tells SDKs not to wait for a limit that is far away, and leaves other answers alone", async () => {
  await using gateway = await startTestGateway({
    policies: [{
      name: "long-waits-are-errors",
      targetRefs: [{ kind: "Gateway", name: "default" }],
      phase: "PreRouting",
      traffic: {
        transformation: {
          response: {
            set: [{ name: "x-should-retry", value: readmeExpression() }],
          },
        },
      },
    }],
    routes: [route("far", "Hours"), route("near", "Minutes")],
  });
  const advice = async (name: string) => {
    const { status, headers } = await fetchRaw(`${gateway.origin}/${name}`);
    return `${status} ${headers["x-should-retry"]}`;
  };

  assert.equal(await advice("far"), "200 undefined");
  assert.equal(await advice("far"), "429 false");
  assert.equal(await advice("near"), "200 undefined");
  assert.equal(await advice("near"), "429 undefined");
});
