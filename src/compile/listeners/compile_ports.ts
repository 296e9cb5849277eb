import { parseDuration } from "../../api/schema/duration.ts";
import type { Listener as ListenerSpec } from "../../api/resources/gateway_resource.ts";
import { compareHostnames } from "../../route/hostname.ts";
import type {
  Listener,
  ListenerTimeouts,
  Port,
} from "../../snapshot/snapshot.ts";
import {
  type ListenerSite,
  pathOf,
  type SharedSetting,
} from "./listener_sites.ts";
import { compilePortTls, type TlsContext } from "./port_tls.ts";
import type { Report } from "../report.ts";

/** A listener and where it comes from. */
export interface CompiledSite {
  readonly site: ListenerSite;
  readonly listener: Listener;
}

/** Sockets to open: one for each port, shared by the listeners of all gateways that are on it. */
export function compilePorts(
  sites: readonly CompiledSite[],
  context: TlsContext,
): Port[] {
  const groups = Map.groupBy(sites, ({ site }) => site.spec.port);
  return groups.entries().flatMap(([port, group]) =>
    compilePort(port, group, context)
  ).toArray();
}

/** Nothing for a port of two protocols, or of TLS without a certificate: it could not answer as it should. */
function compilePort(
  port: number,
  group: readonly CompiledSite[],
  context: TlsContext,
): Port[] {
  const sites = group.map(({ site }) => site);
  const shared: SharedSetting = (field, valueOf) =>
    sharedValue(sites, field, { valueOf, report: context.report });
  const protocol = shared("protocol", ({ protocol }) => protocol);
  if (sites.some(({ spec }) => spec.protocol !== protocol)) return [];
  const tls = protocol === "HTTPS"
    ? compilePortTls(sites, shared, context)
    : undefined;
  if (tls?.certificates.length === 0) return [];
  return [{
    port,
    // Not stating an address is a statement too: every address.
    address: shared("address", ({ address }) => address ?? null) ?? undefined,
    maxConnections: shared("maxConnections", (spec) => spec.maxConnections),
    timeouts: compileTimeouts(shared("timeouts", (spec) => spec.timeouts)),
    tls,
    listeners: group.map(({ listener }) => listener).sort((a, b) =>
      compareHostnames(a.hostname, b.hostname)
    ),
  }];
}

function sharedValue<T>(
  sites: readonly ListenerSite[],
  field: string,
  { valueOf, report }: {
    valueOf: (spec: ListenerSpec) => T | undefined;
    report: Report;
  },
): T | undefined {
  const owner = sites.find(({ spec }) => valueOf(spec) !== undefined);
  if (owner === undefined) return undefined;
  const value = valueOf(owner.spec);
  for (const site of sites) {
    const own = valueOf(site.spec);
    if (own === undefined || JSON.stringify(own) === JSON.stringify(value)) {
      continue;
    }
    const path = [...pathOf(site), ...field.split(".")];
    const message =
      `Cannot use another "${field}" than listener "${owner.key}": both are on port ${site.spec.port}`;
    report.error(site.gateway, { path, message });
  }
  return value;
}

function compileTimeouts(
  timeouts: ListenerSpec["timeouts"] = {},
): ListenerTimeouts {
  const { requestHeaders, requestBody, idle } = timeouts;
  return {
    ...(requestHeaders !== undefined &&
      { requestHeadersMs: parseDuration(requestHeaders) }),
    ...(requestBody !== undefined &&
      { requestBodyMs: parseDuration(requestBody) }),
    ...(idle !== undefined && { idleMs: parseDuration(idle) }),
  };
}
