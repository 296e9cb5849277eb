import assert from "node:assert/strict";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

/** Returns the expression that `docs/limits.md` recommends for SDKs that would wait for an hour. */
function documentedExpression(): string {
  const page = Deno.readTextFileSync(
    new URL("../../../docs/limits.md", import.meta.url),
  );
  const [, name, value = ""] =
    /- name: (x-should-retry)\n\s+value: >-\n([^`]+?)\nroutes:/.exec(page) ??
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

Deno.test("the documented transformation tells SDKs not to wait for a distant reset, and leaves other responses unchanged", async () => {
  await using gateway = await startTestGateway({
    policies: [{
      name: "long-waits-are-errors",
      targetRefs: [{ kind: "Gateway", name: "default" }],
      phase: "PreRouting",
      traffic: {
        transformation: {
          response: {
            set: [{ name: "x-should-retry", value: documentedExpression() }],
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
