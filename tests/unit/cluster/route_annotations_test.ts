import assert from "node:assert/strict";
import { POLICY_API_GROUP } from "../../../src/api/schema/group.ts";
import { createCollections } from "../../../src/cluster/source/collections.ts";
import { readObject } from "../../../src/cluster/source/read_objects.ts";
import { schemasOf } from "../../../src/gateway/candidate/candidate.ts";

/** Reads a route with annotations; returns the rules, or what is wrong. */
function readRules(
  kind: "HTTPRoute" | "GRPCRoute",
  annotations: Readonly<Record<string, string>>,
) {
  const collection = createCollections(POLICY_API_GROUP).find((each) =>
    each.kind === kind
  );
  assert(collection !== undefined);
  const refs = (...names: readonly string[]) => ({
    backendRefs: names.map((name) => ({ name, port: 80 })),
  });
  const { resource, rejections } = readObject(
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind,
      metadata: {
        name: "r",
        namespace: "default",
        annotations: Object.fromEntries(
          Object.entries(annotations).map(([name, value]) => [
            `${POLICY_API_GROUP}/${name}`,
            value,
          ]),
        ),
      },
      spec: { rules: [refs("primary", "spare"), refs("primary"), {}] },
    },
    collection,
    {
      schemas: schemasOf().kinds,
      policyApiGroup: POLICY_API_GROUP,
      isManaged: false,
    },
  );
  const rules = resource?.kind === "HTTPRoute" || resource?.kind === "GRPCRoute"
    ? resource.spec.rules ?? []
    : [];
  return { rules, messages: rejections.map(({ message }) => message) };
}

/** Reads the priorities of the backends of a route with an annotation. */
function read(kind: "HTTPRoute" | "GRPCRoute", annotation: string) {
  const { rules, messages } = readRules(kind, { priorities: annotation });
  const priorities = rules.map(({ backendRefs }) =>
    backendRefs?.map(({ priority }) => priority)
  );
  return { priorities, messages };
}

Deno.test("annotations set the choice among backends of the rules with several", () => {
  const { rules, messages } = readRules("HTTPRoute", {
    "load-balancing": "LeastLatency",
    "failover-on": "ContentFilter",
    "hedging-delay": "2s",
    priorities: "spare=1",
  });

  assert.deepEqual(messages, []);
  const [first, second] = rules.map((rule) =>
    "matches" in rule
      ? {
        loadBalancing: "loadBalancing" in rule ? rule.loadBalancing : null,
        failover: "failover" in rule ? rule.failover : null,
        hedging: "hedging" in rule ? rule.hedging : null,
      }
      : undefined
  );
  assert.deepEqual(first, {
    loadBalancing: { policy: "LeastLatency" },
    failover: { on: ["ContentFilter"] },
    hedging: { delay: "2s" },
  });
  assert.deepEqual(second, {
    loadBalancing: null,
    failover: null,
    hedging: null,
  });
});

for (
  const [name, value, message] of [
    ["load-balancing", "Fastest", /loadBalancing\.policy: .*"LeastLatency"/],
    ["failover-on", "Anything", /failover\.on\[0\]: .*"ContentFilter"/],
    ["hedging-delay", "soon", /hedging\.delay: /],
  ] as const
) {
  Deno.test(`an annotation ${name} "${value}" is invalid`, () => {
    const { rules, messages } = readRules("HTTPRoute", { [name]: value });
    assert.deepEqual(rules, []);
    assert.match(messages.join(), message);
  });
}

for (const kind of ["HTTPRoute", "GRPCRoute"] as const) {
  Deno.test(`${kind}: the annotation gives backends priorities`, () => {
    const { priorities, messages } = read(kind, "primary=0, spare=3");
    assert.deepEqual(messages, []);
    assert.deepEqual(priorities, [[0, 3], [0], undefined]);
  });
}

const invalid = [
  ["primary", /expected names of backendRefs with numbers, .* got "primary"/],
  ["primary=0,", /got ""/],
  ["primary=-1", /got "primary=-1"/],
  ["primary=16", /spec\.rules\[0\]\.backendRefs\[0\]\.priority/],
  ["other=1", /no backendRef has the name "other"/],
] as const;
for (const [annotation, message] of invalid) {
  Deno.test(`an annotation "${annotation}" is invalid`, () => {
    const { priorities, messages } = read("HTTPRoute", annotation);
    assert.deepEqual(priorities, []);
    assert.match(messages.join(), message);
  });
}
