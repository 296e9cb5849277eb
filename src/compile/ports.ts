import { parseDuration } from "../api/duration.ts";
import type { Listener as ListenerSpec } from "../api/gateway.ts";
import { describeError } from "../base/errors.ts";
import { compareHostnames } from "../route/hostname.ts";
import type {
  Certificate,
  Listener,
  ListenerTimeouts,
  Port,
  PortTls,
} from "../snapshot/snapshot.ts";
import {
  loadPem,
  parseCertificate,
  parseCertificates,
  type ReadFile,
} from "./certificates.ts";
import { type ListenerSite, pathOf } from "./listeners.ts";
import type { Report } from "./report.ts";

/** A listener and where it comes from. */
export interface CompiledSite {
  readonly site: ListenerSite;
  readonly listener: Listener;
}

/** Sockets to open: one for each address and port, shared by the listeners that have both in common. */
export function compilePorts(
  sites: readonly CompiledSite[],
  readFile: ReadFile,
  report: Report,
): Port[] {
  const groups = Map.groupBy(
    sites,
    ({ site: { spec } }) => `${spec.address ?? "*"}:${spec.port}`,
  );
  reportOverlaps(sites, report);
  return [...groups.values()].flatMap((group) =>
    compilePort(group, readFile, report)
  );
}

/** A socket on every address takes the port from those on single ones. */
function reportOverlaps(sites: readonly CompiledSite[], report: Report): void {
  for (const { site } of sites) {
    const { address, port } = site.spec;
    const rival = address !== undefined &&
      sites.find(({ site: { spec } }) =>
        spec.port === port && spec.address === undefined
      );
    if (!rival) continue;
    const message =
      `Cannot listen on ${address}: listener "${rival.site.key}" has port ${port} on every address`;
    report.error(site.gateway, [...pathOf(site), "address"], message);
  }
}

/** Nothing for a TLS port that has no certificate: it could not answer anybody. */
function compilePort(
  group: readonly CompiledSite[],
  readFile: ReadFile,
  report: Report,
): Port[] {
  const sites = group.map(({ site }) => site);
  const [first] = sites;
  if (first === undefined) return [];
  const shared = <T>(
    field: string,
    valueOf: (spec: ListenerSpec) => T,
  ): T | undefined => sharedValue(sites, field, valueOf, report);

  const { port, address } = first.spec;
  const isTls = shared("protocol", ({ protocol }) => protocol) === "HTTPS";
  const tls = isTls ? compileTls(sites, shared, readFile, report) : undefined;
  if (isTls && tls?.certificates.length === 0) return [];
  return [{
    port,
    address,
    maxConnections: shared("maxConnections", (spec) => spec.maxConnections),
    timeouts: compileTimeouts(shared("timeouts", (spec) => spec.timeouts)),
    tls,
    listeners: group.map(({ listener }) => listener).sort((a, b) =>
      compareHostnames(a.hostname, b.hostname)
    ),
  }];
}

type Shared = <T>(
  field: string,
  valueOf: (spec: ListenerSpec) => T,
) => T | undefined;

/** A setting of the socket: the listeners that state it must agree. */
function sharedValue<T>(
  sites: readonly ListenerSite[],
  field: string,
  valueOf: (spec: ListenerSpec) => T,
  report: Report,
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
    report.error(site.gateway, path, message);
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

const clientCertificates = { Request: "request", Require: "require" } as const;

function compileTls(
  sites: readonly ListenerSite[],
  shared: Shared,
  readFile: ReadFile,
  report: Report,
): PortTls {
  const owner = sites.find(({ spec }) => spec.tls?.clientCa !== undefined);
  const mode = shared(
    "tls.clientCertificate",
    ({ tls }) => tls?.clientCertificate,
  );
  shared("tls.clientCa", ({ tls }) => tls?.clientCa);
  return {
    certificates: sites.flatMap((site) =>
      certificatesOf(site, readFile, report)
    ),
    clientCa: owner && loadClientCa(owner, readFile, report),
    clientCertificate: mode === undefined ? "none" : clientCertificates[mode],
    minVersion: shared("tls.minVersion", ({ tls }) => tls?.minVersion) ??
      "TLSv1.2",
  };
}

/** Empty when it cannot be read: then no client certificate is trusted. */
function loadClientCa(
  site: ListenerSite,
  readFile: ReadFile,
  report: Report,
): string {
  try {
    const pem = loadPem(site.spec.tls?.clientCa ?? "", readFile);
    parseCertificates(pem);
    return pem;
  } catch (error) {
    const message = `Cannot use the CA for client certificates: ${
      describeError(error)
    }`;
    report.error(site.gateway, [...pathOf(site), "tls", "clientCa"], message);
    return "";
  }
}

function certificatesOf(
  site: ListenerSite,
  readFile: ReadFile,
  report: Report,
): Certificate[] {
  const { certificates = [], certificateRefs = [] } = site.spec.tls ?? {};
  const path = [...pathOf(site), "tls"];
  for (const [index, { kind, name }] of certificateRefs.entries()) {
    const message =
      `Cannot read ${kind} "${name}": certificates come from files; use "certificates"`;
    report.error(site.gateway, [...path, "certificateRefs", index], message);
  }
  return certificates.flatMap(({ cert, key }, index) => {
    try {
      const parsed = parseCertificate(
        loadPem(cert, readFile),
        loadPem(key, readFile),
      );
      return [{
        ...parsed,
        hostnames: namesFor(parsed, site, certificates.length),
      }];
    } catch (error) {
      const message = `Cannot use the certificate: ${describeError(error)}`;
      report.error(site.gateway, [...path, "certificates", index], message);
      return [];
    }
  });
}

/** A listener's only certificate is for whatever the listener is for; several say themselves. */
function namesFor(
  { hostnames }: Certificate,
  { hostname }: ListenerSite,
  count: number,
): readonly string[] {
  if (count > 1) return hostnames;
  return hostname === "*" ? [] : [hostname];
}
