import assert from "node:assert/strict";
import { POLICY_API_GROUP } from "../../../src/api/resources/group.ts";
import { createCollections } from "../../../src/cluster/source/collections.ts";
import { readObject } from "../../../src/cluster/source/read_objects.ts";
import { schemasOf } from "../../../src/gateway/candidate.ts";

/** Reads a route with an annotation; returns the priorities of its backends, or what is wrong. */
function read(kind: "HTTPRoute" | "GRPCRoute", annotation: string) {
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
        annotations: { [`${POLICY_API_GROUP}/priorities`]: annotation },
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
  return {
    priorities: rules.map(({ backendRefs }) =>
      backendRefs?.map(({ priority }) => priority)
    ),
    messages: rejections.map(({ message }) => message),
  };
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
