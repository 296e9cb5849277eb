import { isIP } from "node:net";
import {
  checkServerIdentity,
  connect,
  createSecureContext,
  getCACertificates,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import { GatewayError } from "../../base/errors.ts";
import { formatHostPort } from "../../base/wire/host_port.ts";
import { openSocket } from "./open_socket.ts";
import type { UpstreamOptions, UpstreamTls } from "./upstream.ts";

/** Opens a verified TLS connection to the host of the upstream, or one of its addresses. */
export type TlsDialer = (
  host: string,
  signal: AbortSignal,
) => Promise<TLSSocket>;

/**
 * Creates a dialer for TLS 1.2 and 1.3. It always verifies the certificate: chain, validity period and name.
 */
export function createTlsDialer(
  { port, protocol, ...options }: UpstreamOptions,
  tls: UpstreamTls,
): TlsDialer {
  let context: SecureContext | undefined;
  const verifyIdentity = (_host: string, certificate: PeerCertificate) =>
    verifyNames(tls, certificate);
  return async (host, signal) => {
    try {
      // Shared by all connections: loading the root CAs takes longer than a handshake.
      context ??= createContext(tls);
      const socket = connect({
        host,
        port,
        secureContext: context,
        ALPNProtocols: applicationProtocols(protocol),
        checkServerIdentity: verifyIdentity,
        ...(isIP(tls.hostname) === 0 && { servername: tls.hostname }),
      });
      await openSocket(socket, signal);
      socket.setNoDelay(true);
      return assertVerified(socket, protocol);
    } catch (error) {
      throw asTlsError(formatHostPort(options.host, port), error);
    }
  };
}

function createContext(tls: UpstreamTls): SecureContext {
  const { caCertificates, clientCertificate } = tls;
  return createSecureContext({
    ca: caCertificates === undefined ? systemRoots() : [...caCertificates],
    minVersion: "TLSv1.2",
    ...clientCertificate,
  });
}

/**
 * Returns the operating system's root CAs, or those of `SSL_CERT_FILE` or `SSL_CERT_DIR`.
 *
 * Deno's built-in list is not used: CAs that the operator has removed from the system must not be trusted.
 */
function systemRoots(): string[] {
  try {
    return getCACertificates("system");
  } catch (cause) {
    throw new Error("Cannot read the system's root CAs", { cause });
  }
}

function applicationProtocols(protocol: UpstreamOptions["protocol"]): string[] {
  if (protocol === "http1") return ["http/1.1"];
  return protocol === "http2" ? ["h2"] : ["h2", "http/1.1"];
}

/** Double-checks verification: the socket reports its result. */
function assertVerified(
  socket: TLSSocket,
  protocol: UpstreamOptions["protocol"],
): TLSSocket {
  let problem: string | undefined;
  if (!socket.authorized) problem = "Cannot verify the certificate";
  if (protocol === "http2" && socket.alpnProtocol !== "h2") {
    problem = "Cannot agree on HTTP/2";
  }
  if (problem === undefined) return socket;
  socket.destroy();
  throw new Error(problem, { cause: socket.authorizationError });
}

/** Verifies one of `subjectAltNames` if set, else `hostname` (Gateway API, `BackendTLSPolicyValidation`). */
function verifyNames(
  { hostname, subjectAltNames }: UpstreamTls,
  certificate: PeerCertificate,
): Error | undefined {
  if (subjectAltNames.length === 0) {
    return checkServerIdentity(hostname, certificate);
  }
  const matches = subjectAltNames.some((name) =>
    name.includes("://")
      ? alternativeNames(certificate).includes(`URI:${name}`)
      : checkServerIdentity(name, certificate) === undefined
  );
  if (matches) return undefined;
  return new Error(
    `Certificate does not match: its names are ${certificate.subjectaltname}`,
  );
}

function alternativeNames({ subjectaltname }: PeerCertificate): string[] {
  return subjectaltname?.split(", ") ?? [];
}

/** Wraps TLS errors; returns errors of an unreachable upstream unchanged. */
function asTlsError(endpoint: string, cause: unknown): unknown {
  if (isUnreachable(cause)) return cause;
  const [message, options] = speaksNoTls(cause)
    ? [`"${endpoint}" does not speak TLS: it may be a plain HTTP port`]
    : [`Cannot establish TLS with "${endpoint}"`, { cause }];
  return new GatewayError(
    "upstream_tls_failed",
    "upstream",
    message,
    options,
  );
}

/** Reports whether the first bytes of the response were not TLS. */
function speaksNoTls(error: unknown): boolean {
  return error instanceof Error && "code" in error &&
    error.code === "ERR_SSL_WRONG_VERSION_NUMBER";
}

const unreachableCodes: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
]);

function isUnreachable(error: unknown): boolean {
  return error instanceof Error && "code" in error &&
    unreachableCodes.has(error.code);
}
