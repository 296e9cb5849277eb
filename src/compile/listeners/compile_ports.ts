import { formatHostPort } from "../../base/wire/host_port.ts";
import { addressesOverlap } from "../../base/wire/bind_address.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { Listener as ListenerSpec } from "../../api/resources/gateway_resource.ts";
import { compareHostnames } from "../../route/hostname.ts";
import type {
  Listener,
  ListenerTimeouts,
  Port,
} from "../../snapshot/snapshot.ts";
import {
  compareOfCluster,
  type ListenerSite,
  pathOf,
  portKey,
  reportDisagreement,
} from "../attach/listener_sites.ts";
import type { TlsContext } from "../resolve/certificates.ts";
import {
  type CompiledTls,
  compilePortTls,
  type SharedSetting,
} from "./port_tls.ts";
import type { Report } from "../memory/report.ts";

/** A compiled listener and its resource. */
export interface CompiledSite {
  readonly site: ListenerSite;
  readonly listener: Listener;
}

/** A listener at one of its addresses. */
interface BoundListener extends CompiledSite {
  /** `undefined` is all addresses. */
  readonly address: string | undefined;
}

/** Returns the sockets to open: one for each port and address, shared by the listeners of all gateways that are on it. */
export function compilePorts(
  sites: readonly CompiledSite[],
  context: PortContext,
): Port[] {
  const bound = sites.flatMap((compiled) =>
    compiled.site.addresses.map((address) => ({ ...compiled, address }))
  );
  const { separatesGateways } = context;
  const groups = Map.groupBy(
    bound,
    ({ site, address }) => keyOf(site, address, separatesGateways),
  );
  const byPort = Map.groupBy(
    groups.values(),
    ([first]) => first && portKey(first.site, separatesGateways),
  );
  for (const groups of byPort.values()) reportOverlaps(groups, context.report);
  return groups.entries().flatMap(([key, group]) =>
    isUsable(group, context) ? compilePort(key, group, context) : []
  ).toArray();
}

/** Dependencies of compiling ports. */
interface PortContext extends TlsContext {
  readonly unusablePorts: NonNullable<ResourceSet["unusablePorts"]>;
  /** As in `ResourceSet`. */
  readonly separatesGateways: boolean;
}

function isUsable(
  group: readonly BoundListener[],
  { unusablePorts, report }: PortContext,
): boolean {
  const [first] = group;
  const failure = unusablePorts.find(({ port, address }) =>
    port === first?.site.spec.port && address === first?.address
  );
  if (failure === undefined) return true;
  for (const { site } of group) {
    report.error(site.owner, {
      path: [...pathOf(site), "port"],
      message: failure.reason,
      reason: "AddressNotUsable",
    });
  }
  return false;
}

function keyOf(
  site: ListenerSite,
  address: string | undefined,
  separatesGateways: boolean,
): string {
  const port = portKey(site, separatesGateways);
  if (address === undefined) return port;
  const bound = formatHostPort(address, site.spec.port);
  return separatesGateways ? `${port} ${bound}` : bound;
}

/** Reports addresses that contain another of the same port, such as all addresses and 127.0.0.1: only one can be opened. */
function reportOverlaps(
  groups: readonly (readonly BoundListener[])[],
  report: Report,
): void {
  const opened: BoundListener[] = [];
  for (const group of groups) {
    const [first] = group;
    if (first === undefined || first.site.spec.port === 0) continue;
    const rival = opened.find(({ site, address }) =>
      site.spec.port === first.site.spec.port &&
      addressesOverlap(address, first.address)
    );
    if (rival === undefined) {
      opened.push(first);
      continue;
    }
    for (const { site } of group) reportOverlap(site, first, rival, report);
  }
}

function reportOverlap(
  site: ListenerSite,
  { address }: BoundListener,
  rival: BoundListener,
  report: Report,
): void {
  const path = site.owner.kind === "Gateway" &&
      site.spec.address === undefined && address !== undefined
    ? ["spec", "addresses"]
    : [...pathOf(site), site.spec.address === undefined ? "port" : "address"];
  const message = `Cannot listen on port ${site.spec.port} of ${
    nameOfAddress(address)
  }: listener "${rival.site.key}" listens on ${
    nameOfAddress(rival.address)
  }, and one includes the other; use the same address for both`;
  report.error(site.owner, { path, message, reason: "PortUnavailable" });
}

function nameOfAddress(address: string | undefined): string {
  return address ?? "all addresses";
}

const plain: Partial<CompiledTls> & Pick<CompiledTls, "rejected"> = {
  rejected: new Set(),
};

/** Returns nothing for a port with two protocols, or with TLS and no valid certificate: every request on it would fail. */
function compilePort(
  key: string,
  group: readonly BoundListener[],
  context: TlsContext,
): Port[] {
  const sites = group.map(({ site }) => site);
  /** Listeners of newer gateways that need other settings than the port has. */
  const dissenters = new Set<ListenerSite>();
  const { report } = context;
  const shared: SharedSetting = (field, valueOf) =>
    sharedValue(sites, field, { valueOf, report, dissenters });
  const same = <Field extends keyof ListenerSpec>(field: Field) =>
    shared(field, (spec) => spec[field]);
  const protocol = same("protocol");
  if (sites.some(({ spec }) => spec.protocol !== protocol)) return [];
  const { tls, rejected } = protocol === "HTTPS"
    ? compilePortTls(sites, shared, context)
    : plain;
  const [first] = group;
  if (first === undefined || tls?.certificates.length === 0) return [];
  return [{
    key,
    port: first.site.spec.port,
    address: first.address,
    maxConnections: same("maxConnections"),
    maxConnectionsPerAddress: same("maxConnectionsPerAddress"),
    minRequestBodyRate: same("minRequestBodyRate"),
    minResponseBodyRate: same("minResponseBodyRate"),
    timeouts: compileTimeouts(same("timeouts")),
    tls,
    listeners: group.filter(({ site }) =>
      !rejected.has(site) && !dissenters.has(site)
    )
      .map(({ listener }) => listener)
      .sort((a, b) => compareHostnames(a.hostname, b.hostname)),
  }];
}

function sharedValue<T>(
  sites: readonly ListenerSite[],
  field: string,
  { valueOf, report, dissenters }: {
    valueOf: (spec: ListenerSpec) => T | undefined;
    report: Report;
    dissenters: Set<ListenerSite>;
  },
): T | undefined {
  const [first] = sites;
  const found = sites.find(({ spec }) => valueOf(spec) !== undefined);
  if (first === undefined || found === undefined) return undefined;
  const isNewer = (site: ListenerSite) =>
    compareOfCluster(first.gateway, site.gateway) < 0;
  // A newer gateway of a cluster does not decide for an older one.
  const owner = isNewer(found) ? first : found;
  const value = valueOf(owner.spec);
  for (const site of sites) {
    const own = valueOf(site.spec);
    if (own === undefined || JSON.stringify(own) === JSON.stringify(value)) {
      continue;
    }
    reportDisagreement(site, owner, field, report);
    if (isNewer(site)) dissenters.add(site);
  }
  return value;
}

function compileTimeouts(
  timeouts: ListenerSpec["timeouts"] = {},
): ListenerTimeouts {
  const { requestHeaders, requestBody, idle, webSocket } = timeouts;
  return {
    ...(requestHeaders !== undefined &&
      { requestHeadersMs: parseDuration(requestHeaders) }),
    ...(requestBody !== undefined &&
      { requestBodyMs: parseDuration(requestBody) }),
    ...(idle !== undefined && { idleMs: parseDuration(idle) }),
    ...(webSocket !== undefined && { webSocketMs: parseDuration(webSocket) }),
  };
}
