/** Kinds of failures of a server. */
export type FailureKind =
  /** No connection, or no answer to the first message. */
  | "unreachable"
  /** It takes too long. */
  | "timeout"
  /** It sends what is no MCP. */
  | "invalid"
  /** It responds with an error status, or the gateway has no connection left: maybe for this request only. */
  | "failed"
  /** It rejects the gateway, with HTTP 401 or 403. */
  | "rejected"
  /** The connection broke: the request may have run. */
  | "broken";

/** A failure of one server; clients get the message, so it has no addresses and no secrets. */
export class ServerFailure extends Error {
  override readonly name = "ServerFailure";

  constructor(
    readonly server: string,
    readonly kind: FailureKind,
    /** Completes `MCP server "x" …`. */
    readonly problem: string,
    options?: ErrorOptions,
  ) {
    super(`MCP server "${server}" ${problem}`, options);
  }

  /** True if the server itself is gone. A status does not say that: a client could provoke it, and take the server from all others. */
  get isDown(): boolean {
    return this.kind === "unreachable";
  }
}

/** Problem of a server that rejects the version of a request, which it has spoken before. */
export const CHANGED_VERSION =
  "has changed its protocol version; send the request again";

/** The server does not know the session: it has restarted, or ended it. */
export class SessionLost extends Error {
  override readonly name = "SessionLost";
}
