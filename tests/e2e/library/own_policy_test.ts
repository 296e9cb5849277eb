import assert from "node:assert/strict";
import { textSource } from "../../../mod.ts";
import { describeFile } from "../../../cli/schema/reference.ts";
import { formatDiagnostic } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { fileSchema } from "../../../src/config/file_schema.ts";
import {
  checkCandidate,
  loadCandidate,
  schemasOf,
} from "../../../src/gateway/candidate/candidate.ts";
import { createRegistry } from "../../../src/policy/contract/policy_registry.ts";
import { builtInPolicies } from "../../../src/policy/registry.ts";
import { badge } from "../../harness/gateway/badge_policy.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";

const policies = createRegistry([badge, ...builtInPolicies.kinds]);
const SECRET = "badge-4711-of-anna";
const config = { badges: [{ number: SECRET, owner: "anna" }] };
const answer = { directResponse: { status: 200, body: "welcome" } };

function startWithBadges(): Promise<TestGateway> {
  return startTestGateway(
    { routes: [{ name: "all", policies: { badge: config, ...answer } }] },
    {},
    [],
    { policies },
  );
}

async function send({ origin }: TestGateway, number: string): Promise<number> {
  const headers = { "x-badge": number };
  const { status } = await fetchRaw(origin, { headers });
  return status;
}

Deno.test("a policy of one's own runs on a route, and is in traces without its secrets", async () => {
  await using gateway = await startWithBadges();
  const traced = await gateway.gateway.dataPlane.traceNext({});
  assert.ok("stream" in traced);

  assert.equal(await send(gateway, SECRET), 200);
  const events = await Array.fromAsync(traced.stream);

  const selection = events.map(({ message }) => message)
    .filter((message) => message.type === "policySelection")
    .find(({ phase }) => phase === "route");
  assert.deepEqual(selection?.effectivePolicy["badge"], {
    badges: [{ number: "<redacted>", owner: "anna" }],
    header: "x-badge",
  });
  const result = events.find(({ message }) =>
    message.type === "policy" && message.kind === "badge"
  );
  assert.equal(result?.severity, "success");
  const stages = events.map(({ message }) =>
    message.type === "requestSnapshot" ? message.stage : ""
  );
  assert.ok(stages.includes("badge check"));
  const text = JSON.stringify(events);
  assert.match(text, /"badge":\{"owner":"anna"\}/);
  assert.doesNotMatch(text, new RegExp(SECRET));
});

Deno.test("a policy of one's own rejects requests, and log, metrics and explanation say why", async () => {
  await using gateway = await startWithBadges();

  assert.equal(await send(gateway, "4712"), 401);

  const { dataPlane } = gateway.gateway;
  const { requests: [line] } = await dataPlane.call("requests", {
    status: "failed",
    limit: 1,
  });
  assert.equal(line?.reason, "badge_check");
  assert.equal(line?.cause, "The badge is not valid: no valid badge.");
  const failure = await dataPlane.call("request", line?.id ?? "");
  assert.equal(
    failure?.advice,
    "Send the number of a badge that `badge` lists.",
  );
  assert.ok(
    failure?.events.some(({ message }) =>
      message.type === "policy" && message.kind === "badge"
    ),
  );
  const metrics = await dataPlane.call("collectMetrics");
  assert.match(metrics, /status="401",reason="badge_check"\} 1/);
  assert.match(gateway.accessLog.join(""), /badge_check/);
});

Deno.test("a policy of one's own is in /config_dump without its secrets", async () => {
  await using gateway = await startWithBadges();

  const dump = JSON.stringify(await gateway.gateway.dataPlane.call("describe"));

  assert.match(dump, /"number":"<redacted>","owner":"anna"/);
  assert.doesNotMatch(dump, new RegExp(SECRET));
});

Deno.test("a policy of one's own runs before routing", async () => {
  await using gateway = await startTestGateway(
    { routes: [{ name: "all", policies: answer }] },
    {},
    [{
      apiVersion: "policy.gateway.internal/v1alpha1",
      kind: "GatewayPolicy",
      metadata: { name: "badges" },
      spec: {
        targetRefs: [{ kind: "Gateway", name: "default" }],
        phase: "PreRouting",
        traffic: { badge: config },
      },
    }],
    { policies },
  );

  assert.equal(await send(gateway, "4712"), 401);
  assert.equal(await send(gateway, SECRET), 200);
});

/** The errors of a configuration, as the gateway prints them. */
async function errorsOf(text: string): Promise<readonly string[]> {
  const source = textSource(text, "gateway.yaml");
  const candidate = await loadCandidate(source, { policies });
  return (await checkCandidate(candidate)).map(formatDiagnostic);
}

Deno.test("mistakes in a policy of one's own have their place, in both forms of configuration", async () => {
  const short = `gateways: { default: { port: 1 } }
routes:
  - name: all
    policies:
      directResponse: { status: 200 }
      badge:
        heder: x-badge
        badges:
          - { number: 4711, owner: anna }
`;
  const kubernetes = `apiVersion: policy.gateway.internal/v1alpha1
kind: GatewayPolicy
metadata: { name: badges }
spec:
  targetRefs: [{ kind: HTTPRoute, name: all }]
  traffic:
    badge:
      badges:
        - { number: "4711", owner: anna }
        - { number: "4711", owner: otto }
`;

  assert.deepEqual(await errorsOf(short), [
    'gateway.yaml:7:9: error: routes[0].policies.badge.heder: unknown field; did you mean "header"?',
    "gateway.yaml:9:23: error: routes[0].policies.badge.badges[0].number: must be a string; put the value in quotes",
  ]);
  const duplicates = (await errorsOf(kubernetes))
    .filter((line) => line.includes("badge"));
  assert.deepEqual(duplicates, [
    "gateway.yaml:10:11: error: spec.traffic.badge.badges[1]: The badge is listed twice",
  ]);
});

Deno.test("a policy of one's own is in the reference, and unknown to other gateways", async () => {
  const reference = describeFile(await fileSchema(schemasOf(policies)));

  assert.match(
    reference,
    /\| `badge` \| mapping \| {2}\| Authenticates callers by the number on their badge\. \|/,
  );
  assert.match(reference, /\| `badge\.badges\[\]\.number` \|/);
  const builtIn = describeFile(await fileSchema(schemasOf()));
  assert.doesNotMatch(builtIn, /badge/);
});
