import { objectsAt, stringsAt, valueAt } from "../../base/json.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";

/** An address of a gateway's status; Gateway API `GatewayStatusAddress`. */
export interface StatusAddress {
  readonly type: "IPAddress" | "Hostname";
  readonly value: string;
}

/** Returns the addresses at which clients reach a Service: of the load balancer, once it has some, or in the cluster. */
export function serviceAddresses(
  service: KubernetesObject | undefined,
): readonly StatusAddress[] {
  if (valueAt(service, "spec", "type") !== "LoadBalancer") {
    return stringsAt(service, "spec", "clusterIPs")
      .filter((value) => value !== "None")
      .map((value) => ({ type: "IPAddress", value }));
  }
  return objectsAt(service, "status", "loadBalancer", "ingress")
    .flatMap(({ ip, hostname }): StatusAddress[] =>
      typeof ip === "string"
        ? [{ type: "IPAddress", value: ip }]
        : typeof hostname === "string"
        ? [{ type: "Hostname", value: hostname }]
        : []
    );
}
