import assert from "node:assert/strict";
import {
  type EndpointSlice,
  serviceOf,
} from "../../../src/api/resources/cluster_kinds.ts";
import { readEndpoints } from "../../../src/dataplane/service_endpoints.ts";
import { decode } from "../compile/resources.ts";

function slice(name: string, service: string, address: string) {
  return decode(
    "EndpointSlice",
    {
      name,
      labels: { "kubernetes.io/service-name": service },
    },
    undefined,
    {
      addressType: "IPv4",
      endpoints: [{ addresses: [address] }],
      ports: [{ name: "http", port: 80 }],
    },
  );
}

function endpointsOf(slices: readonly EndpointSlice[]) {
  return readEndpoints(Map.groupBy(slices, serviceOf));
}

Deno.test("endpoints of a service are the same object while its slices are", () => {
  const a = slice("a-1", "a", "10.0.0.1");
  const b = slice("b-1", "b", "10.0.0.2");
  const more = slice("b-2", "b", "10.0.0.3");
  const first = endpointsOf([a, b]);
  const second = endpointsOf([more, b, a]);
  assert.equal(second.get("default/a"), first.get("default/a"));
  assert.deepEqual(second.get("default/b")?.get("http"), [
    { host: "10.0.0.3", port: 80 },
    { host: "10.0.0.2", port: 80 },
  ]);
  const third = endpointsOf([b]);
  assert.deepEqual(third.get("default/b")?.get("http"), [
    { host: "10.0.0.2", port: 80 },
  ]);
});
