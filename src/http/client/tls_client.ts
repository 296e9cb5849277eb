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
import { formatHostPort } from "../../base/host_port.ts";
import { openSocket } from "./open_socket.ts";
import type { UpstreamOptions, UpstreamTls } from "./upstream.ts";

/** Opens a verified TLS connection. */
export type TlsDialer = (signal: AbortSignal) => Promise<TLSSocket>;

/**
 * The way to connect to an upstream over TLS 1.2 or 1.3.
 *
 * There is no connection but one whose certificate was verified: chain, dates and name.
 */
export function createTlsDialer(
  { host, port, protocol }: UpstreamOptions,
  tls: UpstreamTls,
): TlsDialer {
  let context: SecureContext | undefined;
  const verifyIdentity = (_host: string, certificate: PeerCertificate) =>
    verifyNames(tls, certificate);
  return async (signal) => {
    try {
      // Once for all connections: reading the roots takes longer than a handshake.
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
      return expectVerified(socket, protocol);
    } catch (error) {
      throw asTlsError(formatHostPort(host, port), error);
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
 * The operating system's trusted roots, or those that `SSL_CERT_FILE` or `SSL_CERT_DIR` names.
 *
 * Deno would use a list of its own: what the operator removed from the system must not be trusted.
 */
function systemRoots(): string[] {
  try {
    return getCACertificates("system");
  } catch (cause) {
    throw new Error("Cannot read the system's trusted certificates", { cause });
  }
}

function applicationProtocols(protocol: UpstreamOptions["protocol"]): string[] {
  if (protocol === "http1") return ["http/1.1"];
  return protocol === "http2" ? ["h2"] : ["h2", "http/1.1"];
}

/** Checks twice what must never go wrong: the socket says itself whether it was verified. */
function expectVerified(
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

/** Gateway API, `BackendTLSPolicyValidation`: one of `subjectAltNames` when there are any, else `hostname`. */
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
    `Certificate is for other names: ${certificate.subjectaltname}`,
  );
}

function alternativeNames({ subjectaltname }: PeerCertificate): string[] {
  return subjectaltname?.split(", ") ?? [];
}

/** Who cannot be reached is told apart from who cannot be trusted. */
function asTlsError(endpoint: string, cause: unknown): unknown {
  if (isUnreachable(cause)) return cause;
  const [message, options] = speaksNoTls(cause)
    ? [`"${endpoint}" does not speak TLS; is it a plain HTTP port?`]
    : [`Cannot establish TLS with "${endpoint}"`, { cause }];
  return new GatewayError(
    "upstream_tls_failed",
    "upstream",
    message,
    options,
  );
}

/** Whether the first bytes of the answer were not TLS. */
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
