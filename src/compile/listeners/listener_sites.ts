import {
  bindAddressesOf,
  type Gateway,
  type Listener as ListenerSpec,
} from "../../api/resources/gateway_resource.ts";
import { namespacedName } from "../precedence.ts";
import type { Report } from "../report.ts";

/** A listener and its position in its gateway. */
export interface ListenerSite {
  readonly gateway: Gateway;
  readonly spec: ListenerSpec;
  /** Index in `spec.listeners`. */
  readonly index: number;
  /** Namespace, gateway and listener: `default/default/http`. */
  readonly key: string;
  /** `*` for every hostname. */
  readonly hostname: string;
  /** Addresses to listen on; `undefined` is all addresses. */
  readonly addresses: readonly (string | undefined)[];
}

/** Returns a setting of the socket, on which all listeners of the port must agree; `field` is a path such as `tls.minVersion`. */
export type SharedSetting = <T>(
  field: string,
  valueOf: (spec: ListenerSpec) => T | undefined,
) => T | undefined;

/** Returns the listeners of all gateways, without those that conflict: indistinct listeners are not used (Gateway API). */
export function listListeners(
  gateways: readonly Gateway[],
  report: Report,
): ListenerSite[] {
  const sites = gateways.flatMap(sitesOf);
  return sites.filter((site) => {
    const other = sites.find((each) =>
      each !== site && areIndistinct(site, each)
    );
    if (other === undefined) return true;
    const message =
      `The listener conflicts with "${other.key}": both accept hostname "${site.hostname}" on port ${site.spec.port}`;
    report.error(site.gateway, {
      path: pathOf(site),
      message,
      reason: "HostnameConflict",
    });
    return false;
  });
}

/** Returns the path of a listener in its gateway. */
export function pathOf({ index }: ListenerSite): (string | number)[] {
  return ["spec", "listeners", index];
}

function sitesOf(gateway: Gateway): ListenerSite[] {
  return gateway.spec.listeners.map((spec, index) => ({
    gateway,
    spec,
    index,
    key: `${namespacedName(gateway)}/${spec.name}`,
    hostname: spec.hostname ?? "*",
    addresses: bindAddressesOf(gateway, spec),
  }));
}

function areIndistinct(a: ListenerSite, b: ListenerSite): boolean {
  return a.hostname === b.hostname && a.spec.port === b.spec.port &&
    a.addresses.some((address) => b.addresses.includes(address));
}
