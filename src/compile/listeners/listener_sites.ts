import {
  bindAddressesOf,
  type Gateway,
  type Listener as ListenerSpec,
} from "../../api/resources/gateway_resource.ts";
import { fullName } from "../precedence.ts";
import type { Report } from "../report.ts";

/** A listener of a gateway, with the way to it. */
export interface ListenerSite {
  readonly gateway: Gateway;
  readonly spec: ListenerSpec;
  /** Place in `spec.listeners`. */
  readonly index: number;
  /** Such as `default/default/http`: namespace, gateway, listener. */
  readonly key: string;
  /** `*` for any. */
  readonly hostname: string;
  /** Addresses to listen on; `undefined` is all addresses. */
  readonly addresses: readonly (string | undefined)[];
}

/** Returns a setting of the socket, on which all listeners of the port must agree; `field` is a path such as `tls.minVersion`. */
export type SharedSetting = <T>(
  field: string,
  valueOf: (spec: ListenerSpec) => T | undefined,
) => T | undefined;

/** Every listener of every gateway; of those that cannot be told apart none is used, as the Gateway API says. */
export function listListeners(
  gateways: readonly Gateway[],
  report: Report,
): ListenerSite[] {
  const sites = gateways.flatMap(sitesOf);
  return sites.filter((site) => {
    const rival = sites.find((other) =>
      other !== site && areIndistinct(site, other)
    );
    if (rival === undefined) return true;
    const message =
      `Cannot tell the listener from "${rival.key}": both accept hostname "${site.hostname}" on port ${site.spec.port}`;
    report.error(site.gateway, { path: pathOf(site), message });
    return false;
  });
}

/** Where a listener stands in its gateway. */
export function pathOf({ index }: ListenerSite): (string | number)[] {
  return ["spec", "listeners", index];
}

function sitesOf(gateway: Gateway): ListenerSite[] {
  return gateway.spec.listeners.map((spec, index) => ({
    gateway,
    spec,
    index,
    key: `${fullName(gateway)}/${spec.name}`,
    hostname: spec.hostname ?? "*",
    addresses: bindAddressesOf(gateway, spec),
  }));
}

function areIndistinct(a: ListenerSite, b: ListenerSite): boolean {
  return a.hostname === b.hostname && a.spec.port === b.spec.port &&
    a.addresses.some((address) => b.addresses.includes(address));
}
