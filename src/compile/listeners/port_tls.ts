import type {
  Gateway,
  Listener,
} from "../../api/resources/gateway_resource.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import type { Certificate, PortTls } from "../../snapshot/snapshot.ts";
import {
  type ListenerSite,
  pathOf,
  reportDisagreement,
} from "../attach/listener_sites.ts";
import type { ConditionReason, Problem } from "../memory/report.ts";
import {
  loadCa,
  loadPem,
  nameOfPem,
  pairWithKey,
  parseLeaf,
  readSecret,
  type TlsContext,
} from "../resolve/certificates.ts";
import { UnresolvedReferenceError } from "../resolve/references.ts";

/** Returns a setting of the socket, on which all listeners of the port must agree; `field` is a path such as `tls.minVersion`. */
export type SharedSetting = <T>(
  field: string,
  valueOf: (spec: Listener) => T | undefined,
) => T | undefined;

/** TLS settings of a port, and the listeners that cannot be served with them. */
export interface CompiledTls extends Pick<PortValidation, "rejected"> {
  readonly tls: PortTls;
}

/** Compiles the TLS settings of a port: server certificates of all its listeners, and client certificates. */
export function compilePortTls(
  sites: readonly ListenerSite[],
  shared: SharedSetting,
  context: TlsContext,
): CompiledTls {
  const { validation, rejected } = compileClientValidation(sites, context);
  const served = sites.filter((site) => !rejected.has(site));
  return {
    rejected,
    tls: {
      certificates: served.flatMap((site) => certificatesOf(site, context)),
      clientCa: validation?.ca,
      clientCertificate: validation?.mode ?? "none",
      minVersion: shared("tls.minVersion", ({ tls }) => tls?.minVersion) ??
        "TLSv1.2",
    },
  };
}

/** Client certificates that a listener requests. */
interface ClientValidation {
  readonly mode: Exclude<PortTls["clientCertificate"], "none">;
  /** Authorities that issue them, PEM. */
  readonly ca: string;
}

/** Client certificates of a port, and the listeners that cannot be served with them. */
interface PortValidation {
  readonly validation: ClientValidation | undefined;
  readonly rejected: ReadonlySet<ListenerSite>;
}

const modes = { Request: "request", Require: "require" } as const;

/**
 * Decides on the client certificates of a port, which all its listeners share: TLS requests them before the host is known.
 * A listener that demands others is not served, as neither is one whose CAs cannot be read.
 */
function compileClientValidation(
  sites: readonly ListenerSite[],
  context: TlsContext,
): PortValidation {
  const rejected = new Set<ListenerSite>();
  let owner: ListenerSite | undefined;
  let validation: ClientValidation | undefined;
  for (const site of sites) {
    const own = validationOf(site, context);
    if (own === "invalid") rejected.add(site);
    if (own === undefined || own === "invalid") continue;
    owner ??= site;
    validation ??= own;
    const field = validation.mode !== own.mode
      ? "tls.clientCertificate"
      : validation.ca !== own.ca
      ? "tls.clientCa"
      : undefined;
    if (field === undefined) continue;
    reportDisagreement(site, owner, field, context.report);
    rejected.add(site);
  }
  if (owner !== undefined && validation?.mode === "require") {
    warnOfSharedDemand(owner, sites, context);
  }
  return { validation, rejected };
}

/** Returns the client certificates that `tls.frontend` of a gateway demands on a port. */
function frontendOf({ spec: { tls } }: Gateway, port: number) {
  const { frontend } = tls ?? {};
  const own = frontend?.perPort?.find((each) => each.port === port)?.tls;
  return (own ?? frontend?.default)?.validation;
}

function validationOf(
  site: ListenerSite,
  context: TlsContext,
): ClientValidation | "invalid" | undefined {
  const { clientCertificate, clientCa = "" } = site.spec.tls ?? {};
  const frontend = frontendOf(site.gateway, site.spec.port);
  const isOwn = clientCertificate !== undefined;
  const references = isOwn
    ? [{ file: clientCa }]
    : frontend?.caCertificateRefs ?? [];
  const found = references.flatMap((reference) => {
    try {
      return [loadCa(reference, site.gateway, context.inputs)];
    } catch (error) {
      const describe = isOwn ? problemOfOwn : problemOfFrontend;
      context.report.error(site.owner, describe(site, error));
      return [];
    }
  });
  const ca = found.join("\n");
  // Without authorities of its own, a listener trusts no client certificate.
  if (isOwn) return { mode: modes[clientCertificate], ca };
  if (frontend === undefined) return undefined;
  if (found.length > 0) {
    const { mode } = frontend;
    return { mode: mode === "AllowValidOnly" ? "require" : "any", ca };
  }
  context.report.error(site.owner, {
    path: [...pathOf(site), "tls"],
    message:
      "Cannot serve the listener: no CA certificate of tls.frontend can be used",
    reason: "NoValidCACertificate",
  });
  return "invalid";
}

const reasons = {
  NotPermitted: "RefNotPermitted",
  UnknownKind: "InvalidCACertificateKind",
  Invalid: "InvalidCACertificateRef",
} satisfies Record<UnresolvedReferenceError["reason"], ConditionReason>;

function problemOfFrontend(site: ListenerSite, error: unknown): Problem {
  const problem = describeError(error);
  return {
    path: [...pathOf(site), "tls"],
    message: `Cannot use a CA certificate of tls.frontend: ${problem}`,
    reason: reasons[
      error instanceof UnresolvedReferenceError ? error.reason : "Invalid"
    ],
  };
}

function problemOfOwn(site: ListenerSite, error: unknown): Problem {
  const problem = describeError(error);
  return {
    path: [...pathOf(site), "tls", "clientCa"],
    message: `Cannot use the CA for client certificates: ${problem}`,
  };
}

/** Warns listeners that request no client certificates, but share the port with one that requires them. */
function warnOfSharedDemand(
  owner: ListenerSite,
  sites: readonly ListenerSite[],
  { report }: TlsContext,
): void {
  for (const site of sites) {
    if (site.spec.tls?.clientCertificate !== undefined) continue;
    if (frontendOf(site.gateway, site.spec.port) !== undefined) continue;
    const message =
      `Clients need a certificate here too: listener "${owner.key}" requires one on port ${site.spec.port}, and TLS asks before the host is known; use another port or address`;
    report.warning(site.owner, { path: [...pathOf(site), "tls"], message });
  }
}

/** A certificate of a listener, and where the listener names it. */
interface NamedCertificate {
  readonly path: DiagnosticPath;
  /** @throws {UnresolvedReferenceError} */
  readonly read: () => { readonly cert: string; readonly key: string };
}

/** Returns the certificates of a listener that can be used; reports the others. */
function certificatesOf(
  site: ListenerSite,
  context: TlsContext,
): Certificate[] {
  const { certificates = [], certificateRefs = [] } = site.spec.tls ?? {};
  const path = [...pathOf(site), "tls"];
  const named: NamedCertificate[] = [
    ...certificates.map((pair, index) => ({
      path: [...path, "certificates", index],
      read: () => pair,
    })),
    ...certificateRefs.map((reference, index) => ({
      path: [...path, "certificateRefs", index],
      read: () => readSecret(site.owner, reference, context.inputs),
    })),
  ];
  return named.flatMap((each) => {
    const certificate = loadCertificate(site, each, context);
    if (certificate === undefined) return [];
    const { hostname } = site;
    const own = hostname === "*" ? [] : [hostname];
    // The only certificate of a listener serves its hostname, whatever names it has.
    return named.length > 1 ? certificate : { ...certificate, hostnames: own };
  });
}

/** Returns a certificate with its own hostnames; reports why it cannot be used. */
function loadCertificate(
  { owner }: ListenerSite,
  { path, read }: NamedCertificate,
  { inputs, report, now }: TlsContext,
): Certificate | undefined {
  let field: readonly string[] = [];
  try {
    const { cert, key } = read();
    field = ["cert"];
    const chain = loadPem(cert, inputs);
    const leaf = parseLeaf(chain, nameOfPem(cert));
    field = ["key"];
    const certificate = pairWithKey(leaf, chain, loadPem(key, inputs));
    if (now !== undefined && now > leaf.validToDate.getTime()) {
      const message =
        `The certificate expired at ${leaf.validToDate.toISOString()}: clients reject it`;
      report.warning(owner, { path: [...path, "cert"], message });
    }
    return certificate;
  } catch (error) {
    const isDenied = error instanceof UnresolvedReferenceError &&
      error.reason === "NotPermitted";
    report.error(owner, {
      path: [...path, ...field],
      message: `Cannot use the certificate: ${describeError(error)}`,
      reason: isDenied ? "RefNotPermitted" : "InvalidCertificateRef",
    });
    return undefined;
  }
}
