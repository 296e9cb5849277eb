import assert from "node:assert/strict";
import { resourceSetOf } from "../../../src/api/resources/resource_set.ts";
import { relevantResources } from "../../../src/cluster/source/relevant_resources.ts";
import { backend, gateway, policy, route } from "../compile/resources.ts";

function gatewayRef(name: string) {
  return { group: "gateway.networking.k8s.io", kind: "Gateway", name };
}

function routeRef(name: string) {
  return { ...gatewayRef(name), kind: "HTTPRoute" };
}

const traffic = { traffic: { directResponse: { status: 200 } } };

Deno.test("a proxy leaves out routes and policies of other gateways", () => {
  const { httpRoutes, gatewayPolicies, gatewayBackends } = relevantResources(
    resourceSetOf([
      gateway("gw"),
      route("own"),
      route("both", { parentRefs: [{ name: "other" }, { name: "gw" }] }),
      route("other", { parentRefs: [{ name: "other" }] }),
      route("elsewhere", {}, { namespace: "elsewhere" }),
      policy("own", [gatewayRef("gw")], traffic),
      policy("other", [gatewayRef("other")], traffic),
      policy("other-route", [routeRef("other")], traffic),
      policy("both", [routeRef("other"), routeRef("both")], traffic),
      backend("b"),
    ]),
  );
  const names = (list: readonly { metadata: { name: string } }[]) =>
    list.map(({ metadata }) => metadata.name);
  assert.deepEqual(names(httpRoutes), ["own", "both"]);
  assert.deepEqual(names(gatewayPolicies), ["own", "both"]);
  assert.deepEqual(
    gatewayPolicies[1]?.spec.targetRefs.map(({ name }) => name),
    ["both"],
  );
  assert.deepEqual(names(gatewayBackends), ["b"]);
});
