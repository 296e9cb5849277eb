import type { ObjectRef } from "../../api/resources/gateway_tls.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import type { Certificate } from "../../snapshot/snapshot.ts";
import { type ListenerSite, pathOf } from "../attach/listener_sites.ts";
import {
  loadPem,
  nameOfPem,
  pairWithKey,
  parseLeaf,
  readSecret,
  type TlsContext,
} from "../resolve/certificates.ts";
import { UnresolvedReferenceError } from "../resolve/references.ts";

/** Returns the certificates of a listener that can be used; reports the others. */
export function certificatesOf(
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

type CertificateSource = NonNullable<
  NonNullable<ListenerSite["spec"]["tls"]>["certificates"]
>[number];

/** Returns the certificate of a Secret; reports why it cannot be used. */
function findSecret(
  { owner }: ListenerSite,
  reference: ObjectRef,
  { inputs, report, path }: PlacedContext,
): CertificateSource | undefined {
  try {
    return readSecret(owner, reference, inputs);
  } catch (error) {
    if (!(error instanceof UnresolvedReferenceError)) throw error;
    report.error(owner, {
      path,
      message: `Cannot use the certificate: ${error.message}`,
      reason: error.reason === "NotPermitted"
        ? "RefNotPermitted"
        : "InvalidCertificateRef",
    });
    return undefined;
  }
}

/** `count` is the number of certificates of the listener. */
function loadCertificate(
  site: ListenerSite,
  { source: { cert, key }, count }: {
    readonly source: CertificateSource;
    readonly count: number;
  },
  { inputs, report, now, path }: PlacedContext,
): Certificate[] {
  let field = "cert";
  try {
    const chain = loadPem(cert, inputs);
    const leaf = parseLeaf(chain, nameOfPem(cert));
    field = "key";
    const privateKey = loadPem(key, inputs);
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
