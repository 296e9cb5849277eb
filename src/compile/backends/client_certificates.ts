import type { Gateway } from "../../api/resources/gateway_resource.ts";
import { describeError } from "../../base/errors.ts";
import type { ClientCertificate } from "../../http/client/upstream.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import type {
  CompiledListener,
  Forwarding,
} from "../policies/effective_policy.ts";
import {
  pairWithKey,
  parseLeaf,
  PemReferenceError,
  readSecret,
} from "../resolve/certificates.ts";
import type { ResultTable } from "../memory/compile_memory.ts";
import { type Inputs, namespacedName } from "../resolve/references.ts";
import type { Report } from "../memory/report.ts";

/** Client certificates of the last compilation by their gateway. */
export type CertificateMemory = ResultTable<
  Gateway,
  ClientCertificate | undefined
>;

interface CertificateContext {
  readonly inputs: Inputs;
  readonly report: Report;
  readonly certificateMemory: CertificateMemory;
}

/** Reads the certificates that gateways present to backends (`tls.backend`); reports those that cannot be used, and leaves them out. */
export function readClientCertificates(
  gateways: readonly Gateway[],
  context: CertificateContext,
): ReadonlyMap<Gateway, ClientCertificate> {
  return new Map(
    gateways.filter(({ spec: { tls } }) => tls?.backend !== undefined)
      .flatMap((gateway) => {
        const certificate = context.certificateMemory.recall(
          gateway,
          () => readCertificate(gateway, context),
        );
        return certificate === undefined ? [] : [[gateway, certificate]];
      }),
  );
}

function readCertificate(
  gateway: Gateway,
  { inputs, report }: CertificateContext,
): ClientCertificate | undefined {
  const reference = gateway.spec.tls?.backend?.clientCertificateRef;
  if (reference === undefined) return undefined;
  try {
    const { cert, key } = readSecret(gateway, reference, inputs);
    pairWithKey(parseLeaf(cert, "the Secret"), cert, key);
    return { cert, key };
  } catch (error) {
    report.error(gateway, {
      path: ["spec", "tls", "backend", "clientCertificateRef"],
      message: `Cannot use the client certificate, so backends get none: ${
        describeError(error)
      }`,
      reason:
        error instanceof PemReferenceError && error.reason === "NotPermitted"
          ? "RefNotPermitted"
          : "InvalidClientCertificateRef",
    });
    return undefined;
  }
}

/** Returns the forwarding of a rule by a gateway that presents a certificate to backends with TLS. */
export function presenting(
  clientCertificate: ClientCertificate | undefined,
  forwarding: Forwarding,
): Forwarding {
  if (clientCertificate === undefined) return forwarding;
  const present = (backend: Backend): Backend => {
    const { tls } = backend;
    return tls === undefined || tls === "invalid"
      ? backend
      : { ...backend, tls: { ...tls, clientCertificate } };
  };
  return {
    ...forwarding,
    backends: forwarding.backends.map((each) => ({
      ...each,
      backend: each.backend && present(each.backend),
    })),
    mirrors: forwarding.mirrors.map((each) => ({
      ...each,
      backend: present(each.backend),
    })),
  };
}

/** Returns the backends that get a client certificate, by a key for each gateway. */
export function presentingBackends(
  listeners: readonly CompiledListener[],
): ReadonlyMap<string, Backend> {
  const found = new Map<string, Backend>();
  for (const { site: { gateway }, rules } of listeners) {
    if (gateway.spec.tls?.backend === undefined) continue;
    for (const { route: { backends, mirrors } } of rules) {
      for (const { backend } of [...backends, ...mirrors]) {
        if (backend === undefined) continue;
        found.set(`${backend.key} from ${namespacedName(gateway)}`, backend);
      }
    }
  }
  return found;
}
