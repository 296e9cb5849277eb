import assert from "node:assert/strict";
import type { Outcomes } from "../../../src/compile/outcomes/outcomes.ts";
import {
  ChangingObjects,
  readObjects,
} from "../../harness/gateway/changing_objects.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";

/** Starts a gateway with resources as they come from a cluster: an invalid one does not reject the others. */
async function startWith(resources: string) {
  const source = new ChangingObjects();
  source.replace(await readObjects(resources));
  let outcomes: Outcomes | undefined;
  const gateway = await Gateway.start({
    config: source,
    onApplied: (applied) => outcomes = applied,
  });
  return { gateway, outcomes };
}

const upstream = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen() {} },
  () => new Response("from the endpoint"),
);
upstream.unref();

/** A documentation address (RFC 5737), which no machine has. */
const FOREIGN_ADDRESS = "203.0.113.1";

const resources = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: good }
spec:
  addresses: [{ value: 127.0.0.1 }]
  listeners: [{ name: http, port: ${freePort()}, protocol: HTTP }]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: bad }
spec:
  addresses: [{ value: ${FOREIGN_ADDRESS} }]
  listeners: [{ name: http, port: ${freePort()}, protocol: HTTP }]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: r }
spec:
  parentRefs: [{ name: good }]
  rules:
    - backendRefs: [{ name: web, port: 80 }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ name: http, port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  labels: { kubernetes.io/service-name: web }
addressType: IPv4
endpoints: [{ addresses: [127.0.0.1], conditions: { ready: true } }]
ports: [{ name: http, port: ${upstream.addr.port} }]
`;

Deno.test("a gateway whose address cannot be used leaves the others as they are, and is not programmed", async () => {
  const { gateway, outcomes } = await startWith(resources);
  await using _gateway = gateway;
  const addresses = await gateway.addresses();
  assert.equal(addresses.length, 1);
  const response = await fetch(`http://127.0.0.1:${addresses[0]?.port}/`);
  assert.equal(await response.text(), "from the endpoint");
  const programmed = outcomes?.gateways.map(({ name, conditions }) => [
    name,
    conditions.find(({ type }) => type === "Programmed")?.reason,
  ]);
  assert.deepEqual(programmed, [
    ["default/good", "Programmed"],
    ["default/bad", "AddressNotUsable"],
  ]);
});
