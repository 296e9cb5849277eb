import assert from "node:assert/strict";
import {
  environmentAddresses,
  objectAddresses,
} from "../../../src/cluster/source/reserved_addresses.ts";

function object(
  kind: string,
  key: string,
  labels: Readonly<Record<string, string>>,
  fields: Readonly<Record<string, unknown>> = {},
) {
  const [namespace = "", name = ""] = key.split("/");
  return {
    apiVersion: "v1",
    kind,
    metadata: { namespace, name, labels },
    ...fields,
  };
}

function slice(key: string, ...addresses: readonly string[]) {
  const [namespace, service = ""] = key.split("/");
  return object("EndpointSlice", `${namespace}/${service}-1`, {
    "kubernetes.io/service-name": service,
  }, { endpoints: [{ addresses }, {}] });
}

Deno.test("a pod knows the API server, itself and its node", () => {
  assert.deepEqual(
    environmentAddresses({
      KUBERNETES_SERVICE_HOST: "10.96.0.1",
      POD_IPS: "10.1.2.3,fd00::3",
      HOST_IPS: "192.168.1.5",
    }, "https://[fd00::1]:443"),
    [
      { address: "10.96.0.1", of: "apiServer" },
      { address: "fd00::1", of: "apiServer" },
      { address: "10.1.2.3", of: "gateway" },
      { address: "fd00::3", of: "gateway" },
      { address: "192.168.1.5", of: "node" },
    ],
  );
  assert.deepEqual(environmentAddresses({}, "https://127.0.0.1:6443"), []);
});

Deno.test("the endpoints of the API server, of proxies and of controllers are reserved, with the Service of the metrics", () => {
  const { addresses, services } = objectAddresses({
    namespace: "gateways",
    services: [
      object("Service", "default/kubernetes", {}, {
        spec: { clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.1", "fd00::1"] },
      }),
      object("Service", "gateways/team-gw", {
        "gateway.internal/gateway-namespace": "team",
      }, { spec: { clusterIPs: ["10.96.0.7"] } }),
      object("Service", "gateways/gateway-stats", {
        "gateway.internal/reserved": "true",
      }, { spec: { clusterIP: "10.96.0.8" } }),
      object("Service", "gateways/app", {}, { spec: {} }),
      // Labels of others mean nothing.
      object("Service", "team/app", { "gateway.internal/reserved": "true" }, {
        spec: { clusterIP: "10.96.0.9" },
      }),
    ],
    slices: [
      slice("default/kubernetes", "172.18.0.2"),
      slice("gateways/team-gw", "10.1.0.1", "10.1.0.2"),
      slice("gateways/gateway-stats", "10.1.0.3"),
      slice("gateways/app", "10.1.0.4"),
      slice("team/app", "10.1.0.5"),
    ],
  });

  assert.deepEqual(
    addresses.map(({ address, of }) => `${of} ${address}`),
    [
      "apiServer 10.96.0.1",
      "apiServer fd00::1",
      "gateway 10.96.0.8",
      "apiServer 172.18.0.2",
      "gateway 10.1.0.1",
      "gateway 10.1.0.2",
      "gateway 10.1.0.3",
    ],
  );
  assert.deepEqual([...services], [
    "default/kubernetes",
    "gateways/team-gw",
    "gateways/gateway-stats",
  ]);
});
