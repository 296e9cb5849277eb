import type { Secret } from "../../api/resources/cluster_kinds.ts";
import { GATEWAY_API_GROUP } from "../../api/resources/group.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import type { Certificate, PortTls } from "../../snapshot/snapshot.ts";
import {
  isPem,
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
import type { References } from "../reference_grants.ts";
import type { ConditionReason, Report } from "../report.ts";

/** Dependencies of reading certificates. */
export interface TlsContext {
  readonly readFile: ReadFile;
  readonly references: References;
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
    report.warning(site.owner, { path: [...pathOf(site), "tls"], message });
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
    report.error(site.owner, {
      path: [...pathOf(site), "tls", "clientCa"],
      message,
    });
    return "";
  }
}

function certificatesOf(
  site: ListenerSite,
  context: TlsContext,
): Certificate[] {
  const { certificates = [], certificateRefs = [] } = site.spec.tls ?? {};
  const path = [...pathOf(site), "tls"];
  const count = certificates.length + certificateRefs.length;
  return [
    ...certificates.flatMap((source, index) =>
      loadCertificate(site, { source, count }, {
        ...context,
        path: [...path, "certificates", index],
      })
    ),
    ...certificateRefs.flatMap((reference, index) => {
      const at = [...path, "certificateRefs", index];
      const source = findSecret(site, reference, { ...context, path: at });
      return source === undefined ? [] : loadCertificate(
        site,
        { source, count },
        { ...context, path: at },
      );
    }),
  ];
}

interface PlacedContext extends TlsContext {
  readonly path: DiagnosticPath;
}

type CertificateRef = NonNullable<
  NonNullable<ListenerSite["spec"]["tls"]>["certificateRefs"]
>[number];

type CertificateSource = NonNullable<
  NonNullable<ListenerSite["spec"]["tls"]>["certificates"]
>[number];

/** Returns the certificate of a Secret of type `kubernetes.io/tls`; reports why it cannot be used. */
function findSecret(
  { owner }: ListenerSite,
  { group, kind, name, namespace = owner.metadata.namespace }: CertificateRef,
  { references, report, path }: PlacedContext,
): CertificateSource | undefined {
  const reject = (reason: ConditionReason, problem: string) => {
    const message = `Cannot use the certificate: ${problem}`;
    report.error(owner, { path, message, reason });
    return undefined;
  };
  if (group !== "" || kind !== "Secret") {
    return reject("InvalidCertificateRef", `kind "${kind}" is no "Secret"`);
  }
  const from = {
    group: GATEWAY_API_GROUP,
    kind: owner.kind,
    namespace: owner.metadata.namespace,
  };
  const key = `${namespace}/${name}`;
  if (!references.isAllowed(from, { group, kind, namespace, name })) {
    return reject(
      "RefNotPermitted",
      `no ReferenceGrant of namespace "${namespace}" allows Secret "${key}"`,
    );
  }
  const secret = references.secrets.get(key);
  if (secret === undefined) {
    return reject("InvalidCertificateRef", `Secret "${key}" not found`);
  }
  const cert = secretValue(secret, "tls.crt");
  const privateKey = secretValue(secret, "tls.key");
  if (cert === undefined || privateKey === undefined) {
    return reject(
      "InvalidCertificateRef",
      `Secret "${key}" has no valid "tls.crt" and "tls.key"`,
    );
  }
  return { cert, key: privateKey };
}

/** Returns a value of a Secret if it is PEM, so that it can never name a file. */
function secretValue(
  { data = {}, stringData = {} }: Secret,
  name: string,
): string | undefined {
  const value = stringData[name] ?? decodeBase64(data[name] ?? "");
  return isPem(value) ? value : undefined;
}

function decodeBase64(text: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(text));
  } catch {
    return "";
  }
}

/** `count` is the number of certificates of the listener. */
function loadCertificate(
  site: ListenerSite,
  { source: { cert, key }, count }: {
    readonly source: CertificateSource;
    readonly count: number;
  },
  { readFile, report, now, path }: PlacedContext,
): Certificate[] {
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
      report.warning(site.owner, { path: [...path, "cert"], message });
    }
    return [{ ...parsed, hostnames: namesFor(parsed, site, count) }];
  } catch (error) {
    const message = `Cannot use the certificate: ${describeError(error)}`;
    report.error(site.owner, {
      path: [...path, field],
      message,
      reason: "InvalidCertificateRef",
    });
    return [];
  }
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
