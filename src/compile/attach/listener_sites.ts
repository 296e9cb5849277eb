import {
  comparePrecedence,
  gatewayOfSet,
  namespacedName,
} from "../resolve/precedence.ts";
import type { References } from "../resolve/references.ts";
import {
  bindAddressesOf,
  type Gateway,
  type Listener as ListenerSpec,
} from "../../api/resources/gateway_resource.ts";
import type { ListenerSet } from "../../api/resources/listener_set.ts";
import {
  resourceKey,
  type ResourceSet,
} from "../../api/resources/resource_set.ts";
import type { ConditionReason, Report } from "../memory/report.ts";

/** A listener and its position in its resource. */
export interface ListenerSite {
  readonly gateway: Gateway;
  /** Resource that has the listener: the gateway, or one of its listener sets. */
  readonly owner: Gateway | ListenerSet;
  readonly spec: ListenerSpec;
  /** Index in `spec.listeners` of `owner`. */
  readonly index: number;
  /** Namespace, gateway and listener: `default/default/http`. Before a listener of a set: that of the gateway and of the set. */
  readonly key: string;
  /** `*` for every hostname. */
  readonly hostname: string;
  /** Addresses to listen on; `undefined` is all addresses. */
  readonly addresses: readonly (string | undefined)[];
}

/** Dependencies of listing listeners. */
interface SitesContext {
  readonly references: References;
  readonly report: Report;
}

/**
 * Returns the listeners of all gateways and of their listener sets, without those that conflict: indistinct listeners of a gateway are
 * not used, and yield to those of older gateways; those of a set yield to gateways and to sets of higher precedence (Gateway API,
 * `ListenerSetSpec.listeners`).
 */
export function listListeners(
  { gateways, listenerSets, separatesGateways = false }: Pick<
    ResourceSet,
    "gateways" | "listenerSets" | "separatesGateways"
  >,
  context: SitesContext,
): ListenerSite[] {
  const own = gateways.toSorted(compareOfCluster)
    .flatMap((gateway) => sitesOf(gateway, gateway));
  const portOf = (site: ListenerSite) => portKey(site, separatesGateways);
  const byPort = Map.groupBy(own, portOf);
  const distinct = own.filter((site) =>
    !yieldsToOther(site, byPort.get(portOf(site)) ?? [], context.report)
  );
  for (const set of listenerSets.toSorted(comparePrecedence)) {
    const gateway = gatewayOf(set, gateways, context);
    if (gateway === undefined) continue;
    for (const site of sitesOf(set, gateway)) {
      const others = byPort.getOrInsertComputed(portOf(site), () => []);
      if (hasConflict(site, others, context.report)) continue;
      others.push(site);
      distinct.push(site);
    }
  }
  return distinct;
}

/** Returns the listeners by the key of their gateway or listener set, also of those without any. */
export function byParent(
  { gateways, listenerSets }: ResourceSet,
  sites: readonly ListenerSite[],
): ReadonlyMap<string, readonly ListenerSite[]> {
  const found = new Map<string, ListenerSite[]>(
    [...gateways, ...listenerSets].map((parent) => [resourceKey(parent), []]),
  );
  for (const site of sites) found.get(resourceKey(site.owner))?.push(site);
  return found;
}

/** Identifies the port of a listener, which all gateways share unless each has proxies of its own. */
export function portKey(
  { gateway, spec }: ListenerSite,
  separatesGateways: boolean,
): string {
  return separatesGateways
    ? `${namespacedName(gateway)} ${spec.port}`
    : String(spec.port);
}

/** Reports whether a listener of a gateway conflicts with one of the same gateway, or of an older one. */
function yieldsToOther(
  site: ListenerSite,
  others: readonly ListenerSite[],
  report: Report,
): boolean {
  const indistinct = others.find((each) =>
    each !== site && areIndistinct(site, each) &&
    (each.gateway === site.gateway ||
      compareOfCluster(each.gateway, site.gateway) <= 0)
  );
  if (indistinct !== undefined) {
    reportIndistinct(site, indistinct, report);
    return true;
  }
  const older = others.find((each) =>
    compareOfCluster(each.gateway, site.gateway) < 0 &&
    shareSocket(site, each) && each.spec.protocol !== site.spec.protocol
  );
  if (older !== undefined) reportDisagreement(site, older, "protocol", report);
  return older !== undefined;
}

/** Orders gateways of a cluster by precedence: a tenant must not close the listeners of another. In files, a conflict is an error of both. */
export function compareOfCluster(a: Gateway, b: Gateway): number {
  return a.metadata.uid === undefined || b.metadata.uid === undefined
    ? 0
    : comparePrecedence(a, b);
}

/** Reports a listener that has another setting of the socket than `owner`, which decides. */
export function reportDisagreement(
  site: ListenerSite,
  owner: ListenerSite,
  field: string,
  report: Report,
): void {
  const message =
    `Cannot use another "${field}" than listener "${owner.key}": both are on port ${site.spec.port}`;
  report.error(site.owner, {
    path: [...pathOf(site), ...field.split(".")],
    message,
    reason: "ProtocolConflict",
  });
}

/** Returns the path of a listener in its resource. */
export function pathOf({ index }: ListenerSite): (string | number)[] {
  return ["spec", "listeners", index];
}

const known = new WeakMap<ListenerSite["owner"], readonly ListenerSite[]>();

/** Returns the same sites for the same resources, so that what depends on them can be remembered. */
function sitesOf(
  owner: Gateway | ListenerSet,
  gateway: Gateway,
): readonly ListenerSite[] {
  const before = known.get(owner);
  if (before?.[0]?.gateway === gateway) return before;
  const sites = createSites(owner, gateway);
  known.set(owner, sites);
  return sites;
}

function createSites(
  owner: Gateway | ListenerSet,
  gateway: Gateway,
): readonly ListenerSite[] {
  const prefix = owner === gateway
    ? namespacedName(gateway)
    : `${namespacedName(gateway)}/${namespacedName(owner)}`;
  return owner.spec.listeners.map((spec, index) => ({
    gateway,
    owner,
    spec,
    index,
    key: `${prefix}/${spec.name}`,
    hostname: spec.hostname ?? "*",
    addresses: bindAddressesOf(gateway, spec),
  }));
}

/** Returns the gateway of a listener set if it allows the set. */
function gatewayOf(
  set: ListenerSet,
  gateways: readonly Gateway[],
  { references, report }: SitesContext,
): Gateway | undefined {
  const { namespace, name } = set.metadata;
  const key = gatewayOfSet(set);
  const gateway = gateways.find((each) => namespacedName(each) === key);
  const reject = (problem: string, more: {
    readonly reason?: ConditionReason;
    readonly suggestion?: string | undefined;
  }) => {
    const message = `Cannot add the listeners of "${name}": ${problem}`;
    report.warning(set, { path: ["spec", "parentRef"], message, ...more });
    return undefined;
  };
  if (gateway === undefined) {
    return reject(`gateway "${key}" not found`, {
      suggestion: report.suggest(
        set.spec.parentRef.name,
        () => gateways.map(({ metadata }) => metadata.name),
      ),
    });
  }
  const allowed = references.allowsNamespace(
    { from: "None", ...gateway.spec.allowedListeners?.namespaces },
    { owner: gateway.metadata.namespace, namespace },
  );
  return allowed ? gateway : reject(
    `gateway "${key}" does not allow it; set its "allowedListeners"`,
    { reason: "NotAllowed" },
  );
}

function areIndistinct(a: ListenerSite, b: ListenerSite): boolean {
  return a.hostname === b.hostname && shareSocket(a, b);
}

function shareSocket(a: ListenerSite, b: ListenerSite): boolean {
  return a.spec.port === b.spec.port &&
    a.addresses.some((address) => b.addresses.includes(address));
}

/** Reports whether a listener of a set conflicts with one of higher precedence. */
function hasConflict(
  site: ListenerSite,
  others: readonly ListenerSite[],
  report: Report,
): boolean {
  const rivals = others.filter((each) => shareSocket(site, each));
  const [first] = rivals;
  if (first !== undefined && first.spec.protocol !== site.spec.protocol) {
    reportDisagreement(site, first, "protocol", report);
    return true;
  }
  const same = rivals.find(({ hostname }) => hostname === site.hostname);
  if (same !== undefined) reportIndistinct(site, same, report);
  return same !== undefined;
}

function reportIndistinct(
  site: ListenerSite,
  rival: ListenerSite,
  report: Report,
): void {
  const message =
    `The listener conflicts with "${rival.key}": both accept hostname "${site.hostname}" on port ${site.spec.port}`;
  const path = pathOf(site);
  report.error(site.owner, { path, message, reason: "HostnameConflict" });
}
