import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import { gatewayApiVersion, policyApiVersion } from "../../api/schema/group.ts";
import { parseLlmHost } from "../../api/resources/llm_backend.ts";
import { isIpAddress } from "../../api/schema/scalars.ts";
import type { Path } from "../../api/schema/validate.ts";
import {
  backendKind,
  DEFAULT_NAMESPACE,
  type Placed,
  type ShortItem,
} from "./placed.ts";
import type { ShortBackend, ShortTls } from "./short_form.ts";
import type { ConfigDocument } from "../yaml/config_document.ts";

/** Expands `backends[]` to a `GatewayBackend` and its `BackendTLSPolicy`. */
export function expandBackend(
  { value, path, document }: ShortItem<ShortBackend>,
): readonly Placed[] {
  const { name, tls, ...spec } = value;
  return createBackend({ name, spec, tls, document, specPath: path });
}

/** Parts of a backend and their source. */
export interface BackendParts {
  readonly name: string;
  readonly spec: GatewayBackend["spec"];
  readonly tls: ShortTls | undefined;
  readonly document: ConfigDocument;
  readonly specPath: Path;
}

/** Creates a `GatewayBackend` and, if it has TLS settings, its `BackendTLSPolicy`. */
export function createBackend(
  { name, spec, tls, document, specPath }: BackendParts,
): readonly Placed[] {
  const backend: Placed<GatewayBackend> = {
    document,
    resource: {
      apiVersion: policyApiVersion,
      kind: "GatewayBackend",
      metadata: { name, namespace: DEFAULT_NAMESPACE },
      spec,
    },
    origins: [{ at: [], from: specPath, whole: true }, {
      at: ["spec"],
      from: specPath,
    }, {
      at: ["metadata", "name"],
      from: [...specPath, "name"],
    }],
  };
  if (tls === undefined) return [backend];
  return [
    backend,
    createTlsPolicy(name, hostOf(spec), tls, {
      document,
      path: [...specPath, "tls"],
    }),
  ];
}

/** Returns the host that a backend is configured with; `undefined` for that of an LLM provider. */
export function hostOf(
  { static: address, endpoints = [], llm }: Partial<
    Pick<GatewayBackend["spec"], "static" | "endpoints" | "llm">
  >,
): string | undefined {
  const [host, ...others] = new Set(endpoints.map(({ host }) => host));
  // One certificate name cannot be right for different hosts.
  if (others.length > 0) return "";
  return address?.host ?? host ?? parseLlmHost(llm?.host ?? "")?.host;
}

function createTlsPolicy(
  name: string,
  host: string | undefined,
  tls: ShortTls,
  { document, path }: {
    readonly document: ConfigDocument;
    readonly path: Path;
  },
): Placed<BackendTlsPolicy> {
  const validation = { hostname: (host ?? "").toLowerCase(), ...tls };
  return {
    document,
    resource: {
      apiVersion: gatewayApiVersion,
      kind: "BackendTLSPolicy",
      metadata: { name, namespace: DEFAULT_NAMESPACE },
      spec: {
        targetRefs: [{ ...backendKind, name }],
        validation: tls.caCertificateRefs === undefined
          ? { ...validation, wellKnownCACertificates: "System" }
          : validation,
      },
    },
    origins: [
      { at: [], from: path, whole: true },
      { at: ["spec", "validation"], from: path },
    ],
  };
}

/** Reports whether a TLS backend lacks a hostname to verify its certificate against. */
export function lacksTlsHostname(
  host: string,
  tls: ShortTls | undefined,
): boolean {
  return tls !== undefined && tls.hostname === undefined &&
    (host === "" || isIpAddress(host));
}
