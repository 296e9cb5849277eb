import { describeError } from "../../base/errors.ts";
import type { Certificate, PortTls } from "../../snapshot/snapshot.ts";
import {
  loadPem,
  nameOfPem,
  pairWithKey,
  parseCertificates,
  parseLeaf,
  type ReadFile,
} from "./certificates.ts";
import {
  type ListenerSite,
  pathOf,
  type SharedSetting,
} from "./listener_sites.ts";
import type { Report } from "../report.ts";

/** Dependencies of reading certificates. */
export interface TlsContext {
  readonly readFile: ReadFile;
  readonly report: Report;
  /** Wall-clock time in milliseconds; without it, no certificate counts as expired. */
  readonly now?: number;
}

const clientCertificates = { Request: "request", Require: "require" } as const;

/** Compiles the TLS settings of a port: server certificates of all its listeners, and client certificates. */
export function compilePortTls(
  sites: readonly ListenerSite[],
  shared: SharedSetting,
  context: TlsContext,
): PortTls {
  const owner = sites.find(({ spec }) => spec.tls?.clientCa !== undefined);
  const mode = shared(
    "tls.clientCertificate",
    ({ tls }) => tls?.clientCertificate,
  );
  shared("tls.clientCa", ({ tls }) => tls?.clientCa);
  if (mode === "Require" && owner !== undefined) {
    warnOfSharedDemand(owner, sites, context.report);
  }
  return {
    certificates: sites.flatMap((site) => certificatesOf(site, context)),
    clientCa: owner && loadClientCa(owner, context),
    clientCertificate: mode === undefined ? "none" : clientCertificates[mode],
    minVersion: shared("tls.minVersion", ({ tls }) => tls?.minVersion) ??
      "TLSv1.2",
  };
}

/** Warns listeners that do not ask for client certificates, but share the port with one that requires them. */
function warnOfSharedDemand(
  owner: ListenerSite,
  sites: readonly ListenerSite[],
  report: Report,
): void {
  for (const site of sites) {
    if (site.spec.tls?.clientCertificate !== undefined) continue;
    const message =
      `Clients need a certificate here too: listener "${owner.key}" requires one on port ${site.spec.port}, and TLS asks before the host is known; use another port or address`;
    report.warning(site.gateway, { path: [...pathOf(site), "tls"], message });
  }
}

/** Returns an empty string when the CA cannot be read; then no client certificate is trusted. */
function loadClientCa(
  site: ListenerSite,
  { readFile, report }: TlsContext,
): string {
  try {
    const source = site.spec.tls?.clientCa ?? "";
    const pem = loadPem(source, readFile);
    parseCertificates(pem, nameOfPem(source));
    return pem;
  } catch (error) {
    const message = `Cannot use the CA for client certificates: ${
      describeError(error)
    }`;
    report.error(site.gateway, {
      path: [...pathOf(site), "tls", "clientCa"],
      message,
    });
    return "";
  }
}

function certificatesOf(
  site: ListenerSite,
  { readFile, report, now }: TlsContext,
): Certificate[] {
  const { certificates = [], certificateRefs = [] } = site.spec.tls ?? {};
  const path = [...pathOf(site), "tls"];
  for (const [index, { kind, name }] of certificateRefs.entries()) {
    const message =
      `Cannot read ${kind} "${name}": certificates come from files; use "certificates"`;
    report.error(site.gateway, {
      path: [...path, "certificateRefs", index],
      message,
    });
  }
  return certificates.flatMap(({ cert, key }, index) => {
    const at = [...path, "certificates", index];
    let field = "cert";
    try {
      const chain = loadPem(cert, readFile);
      const leaf = parseLeaf(chain, nameOfPem(cert));
      field = "key";
      const privateKey = loadPem(key, readFile);
      const parsed = pairWithKey(leaf, chain, privateKey);
      if (now !== undefined && now > leaf.validToDate.getTime()) {
        const message =
          `The certificate expired at ${leaf.validToDate.toISOString()}: clients reject it`;
        report.warning(site.gateway, { path: [...at, "cert"], message });
      }
      return [{
        ...parsed,
        hostnames: namesFor(parsed, site, certificates.length),
      }];
    } catch (error) {
      const message = `Cannot use the certificate: ${describeError(error)}`;
      report.error(site.gateway, { path: [...at, field], message });
      return [];
    }
  });
}

/** Returns the hostnames that a certificate serves: those of the listener if it is its only one, else its own. */
function namesFor(
  { hostnames }: Certificate,
  { hostname }: ListenerSite,
  count: number,
): readonly string[] {
  if (count > 1) return hostnames;
  return hostname === "*" ? [] : [hostname];
}
