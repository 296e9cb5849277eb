import { isJsonObject, type JsonObject } from "../../base/json.ts";
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
  const spec = isJsonObject(service?.["spec"]) ? service["spec"] : {};
  if (spec["type"] === "LoadBalancer") return loadBalancerOf(service);
  const addresses = Array.isArray(spec["clusterIPs"]) ? spec["clusterIPs"] : [];
  return addresses.filter((value) => value !== "None").map((value) => ({
    type: "IPAddress",
    value: String(value),
  }));
}

function loadBalancerOf(
  service: KubernetesObject | undefined,
): readonly StatusAddress[] {
  const status = isJsonObject(service?.["status"]) ? service["status"] : {};
  const { loadBalancer } = status;
  const ingress = isJsonObject(loadBalancer) ? loadBalancer["ingress"] : [];
  return (Array.isArray(ingress) ? ingress.filter(isJsonObject) : [])
    .flatMap(({ ip, hostname }: JsonObject): StatusAddress[] =>
      typeof ip === "string"
        ? [{ type: "IPAddress", value: ip }]
        : typeof hostname === "string"
        ? [{ type: "Hostname", value: hostname }]
        : []
    );
}
