import type { HandshakeFailure } from "../contract/observer.ts";

/** Facts about a failed handshake. */
export interface FailedHandshake {
  readonly error: Error;
  /** Bytes that the client sent. */
  readonly bytesRead: number;
  readonly asksForCertificate: boolean;
}

/** Translates errors of the TLS engine, which has the codes of OpenSSL, but messages of its own. */
export function describeHandshakeFailure(
  { error, bytesRead, asksForCertificate }: FailedHandshake,
): HandshakeFailure {
  const { message } = error;
  const code = "code" in error ? error.code : undefined;
  if (code === "ECONNRESET") return brokenOff(bytesRead, asksForCertificate);
  if (code === "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE") {
    return {
      reason: "no_client_certificate",
      message: "The client shows no certificate",
    };
  }
  if (message.includes("InvalidContentType")) {
    return {
      reason: "not_tls",
      message: "The client does not speak TLS; is it plain HTTP?",
    };
  }
  if (message.includes("handshake timeout")) {
    if (bytesRead === 0) return brokenOff(bytesRead, asksForCertificate);
    return { reason: "timeout", message: "The client took too long" };
  }
  if (message.includes("peer is incompatible")) {
    return { reason: "incompatible", message };
  }
  if (message.includes("received fatal alert")) {
    return { reason: "client_alert", message };
  }
  return { reason: "other", message };
}

/** Describes a broken handshake. The engine reports an invalid client certificate like a client that disconnected. */
function brokenOff(
  bytesRead: number,
  asksForCertificate: boolean,
): HandshakeFailure {
  if (bytesRead === 0) {
    return { reason: "client_closed", message: "The client left" };
  }
  const message = asksForCertificate
    ? "The client left, or its certificate does not verify"
    : "The client left during the handshake";
  return { reason: "broken_off", message };
}
