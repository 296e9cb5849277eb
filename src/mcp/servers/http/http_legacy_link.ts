import type { Cancellation } from "../../../base/cancellation.ts";
import type { Clock } from "../../../base/clock.ts";
import { sleep } from "../../../base/cancellation.ts";
import type { JsonRpcId } from "../../../base/errors.ts";
import {
  RPC,
  RpcFailure,
  type RpcMessage,
} from "../../protocol/rpc_messages.ts";
import type { ResponseMessage } from "../../../http/message.ts";
import type {
  HttpCall,
  HttpReply,
  HttpTransport,
  StreamPlace,
} from "./http_transport.ts";
import type { LegacyLink, RequestSender, SendCall } from "../server_links.ts";
import {
  CHANGED_VERSION,
  ServerFailure,
  SessionLost,
} from "../failures/server_failure.ts";

/** Servers say when to come back; one that says at once would be asked without a pause. */
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 10_000;
const DEFAULT_RETRY_MS = 1000;

/** Calls of tools in a session, with what is in their headers. */
interface ServerCalls {
  readonly sessionId: string | undefined;
  readonly revision: string | undefined;
  readonly send: SendCall;
}

/** Errors of servers that have no sessions any more. */
const modernErrors: ReadonlySet<number> = new Set([
  RPC.HEADER_MISMATCH,
  RPC.UNSUPPORTED_VERSION,
]);

/** Dependencies of a session. */
export interface HttpLegacyOptions {
  readonly server: string;
  readonly http: HttpTransport;
  readonly clock: Clock;
  /** Called when the server has no sessions any more. */
  onWrongEra(): void;
}

/** A session over Streamable HTTP (MCP 2025-11-25, "Transports"). */
export class HttpLegacyLink implements LegacyLink {
  revision: string | undefined;
  #sessionId: string | undefined;
  /** Calls with the session and revision of now. */
  #prepared: ServerCalls | undefined;
  readonly #options: HttpLegacyOptions;

  /** @param sessionId Of a session that has begun earlier. */
  constructor(options: HttpLegacyOptions, sessionId?: string) {
    this.#options = options;
    this.#sessionId = sessionId;
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  get isStateful(): boolean {
    return this.#sessionId !== undefined;
  }

  async *exchange(
    text: string,
    id: JsonRpcId,
    cancellation: Cancellation,
    sender?: RequestSender,
    begun?: Promise<ResponseMessage>,
  ): AsyncGenerator<RpcMessage, void> {
    const place = newPlace();
    let reply = await this.#call("POST", cancellation, {
      content: text,
      owners: sender?.owners,
      begun,
    });
    // Servers may do so often: the time limit of the request ends it.
    for (;;) {
      for await (const message of reply.messages(place)) {
        yield message;
        const isResponse = message.kind === "result" ||
          message.kind === "error";
        if (isResponse && message.id === id) return;
      }
      if (!reply.isStream || place.lastId === undefined) break;
      reply = await this.#resume(place, cancellation);
    }
    throw this.#failure("broken", "ended the stream without a response");
  }

  callOf(): SendCall {
    const { revision } = this;
    const sessionId = this.#sessionId;
    const known = this.#prepared;
    const isCurrent = known?.sessionId === sessionId &&
      known?.revision === revision;
    if (known !== undefined && isCurrent) return known.send;
    const send = this.#options.http.prepare(this.#headers());
    this.#prepared = { sessionId, revision, send };
    return send;
  }

  async post(text: string, cancellation: Cancellation): Promise<void> {
    const reply = await this.#call("POST", cancellation, { content: text });
    for await (const _ of reply.messages()) break;
  }

  async *listen(
    cancellation: Cancellation,
    onOpen: () => void,
  ): AsyncGenerator<RpcMessage, void> {
    const place = newPlace();
    let reply = await this.#openStream(cancellation);
    onOpen();
    while (reply?.isStream === true) {
      yield* reply.messages(place);
      reply = await this.#resume(place, cancellation);
    }
  }

  async end(cancellation: Cancellation): Promise<void> {
    if (this.#sessionId === undefined) return;
    await this.#options.http.call({
      method: "DELETE",
      headers: this.#headers(),
      cancellation,
    });
  }

  /** Servers may close a stream on purpose: that is no failure before the client has come back (SEP-1699). */
  async #resume(
    { lastId, retryMs = DEFAULT_RETRY_MS }: StreamPlace,
    cancellation: Cancellation,
  ): Promise<HttpReply> {
    await sleep(
      this.#options.clock,
      Math.min(Math.max(retryMs, MIN_RETRY_MS), MAX_RETRY_MS),
      cancellation,
    );
    return await this.#call("GET", cancellation, { lastId });
  }

  /** Servers without a stream respond with 405; some with another error. */
  async #openStream(
    cancellation: Cancellation,
  ): Promise<HttpReply | undefined> {
    try {
      return await this.#call("GET", cancellation);
    } catch (error) {
      if (error instanceof RpcFailure) return undefined;
      throw error;
    }
  }

  #headers(lastId?: string): [string, string][] {
    const headers: [string, string][] = [];
    if (this.#sessionId !== undefined) {
      headers.push(["mcp-session-id", this.#sessionId]);
    }
    if (this.revision !== undefined) {
      headers.push(["mcp-protocol-version", this.revision]);
    }
    if (lastId !== undefined) headers.push(["last-event-id", lastId]);
    return headers;
  }

  async #call(
    method: "POST" | "GET",
    cancellation: Cancellation,
    { lastId, ...call }:
      & Pick<HttpCall, "content" | "owners" | "begun">
      & { readonly lastId?: string | undefined } = {},
  ): Promise<HttpReply> {
    const reply = await this.#options.http.call({
      ...call,
      method,
      headers: this.#headers(lastId),
      cancellation,
    });
    const { status, error, sessionId } = reply;
    if (status < 300) {
      if (isSessionId(sessionId)) this.#sessionId ??= sessionId;
      return reply;
    }
    if (status === 401 || status === 403) {
      throw this.#failure("rejected", `rejects the gateway with ${status}`);
    }
    if (status === 404 && this.#sessionId !== undefined) {
      throw new SessionLost(
        `MCP server "${this.#options.server}" lost the session`,
      );
    }
    if (status >= 500 || status === 429) {
      throw this.#failure("failed", `responds with status ${status}`);
    }
    if (error !== undefined && modernErrors.has(error.code)) {
      this.#options.onWrongEra();
      throw this.#failure("failed", CHANGED_VERSION);
    }
    throw error === undefined
      ? new RpcFailure(
        -32000,
        `MCP server "${this.#options.server}" responds with status ${status}`,
      )
      : RpcFailure.of(error);
  }

  #failure(kind: ServerFailure["kind"], problem: string): ServerFailure {
    return new ServerFailure(this.#options.server, kind, problem);
  }
}

function newPlace(): StreamPlace {
  return { lastId: undefined, retryMs: undefined };
}

/** A longer id would not fit into the sealed id of the client's session. */
const MAX_SESSION_ID = 512;

function isSessionId(id: string | undefined): id is string {
  return id !== undefined && id.length <= MAX_SESSION_ID &&
    /^[\x21-\x7e]+$/.test(id);
}
