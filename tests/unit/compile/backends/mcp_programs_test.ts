import assert from "node:assert/strict";
import { emptyResourceSet } from "../../../../src/api/resources/resource_set.ts";
import { compile } from "../../../../src/compile/compile.ts";
import { builtInPolicies } from "../../../../src/policy/registry.ts";
import { backend } from "../resources.ts";

const { spec: _, ...tools } = backend("tools");
const program = {
  ...tools,
  spec: { mcp: { servers: [{ name: "files", stdio: { command: "files" } }] } },
};

for (
  const [where, isolatesErrors, permissions, problem] of [
    ["files", false, {}, undefined],
    ["a cluster", true, {}, /set "config.clusterStdio"/],
    ["a cluster that allows it", true, { clusterStdio: true }, undefined],
    [
      "a process without run permission",
      false,
      { lacksPrograms: true },
      /restart it/,
    ],
  ] as const
) {
  Deno.test(`a program in ${where} is ${problem ? "rejected" : "a server"}`, () => {
    const { diagnostics, snapshot } = compile({
      ...emptyResourceSet,
      gatewayBackends: [program],
      isolatesErrors,
    }, { policies: builtInPolicies, readFile: () => "", ...permissions });

    const [first] = diagnostics;
    if (problem === undefined) assert.equal(first, undefined);
    else assert.match(first?.message ?? "", problem);
    assert.equal(
      snapshot.backends.has("default/tools"),
      problem === undefined,
    );
  });
}
