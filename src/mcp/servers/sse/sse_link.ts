import { Cancellation, unlessCancelled } from "../../../base/cancellation.ts";
import type { JsonRpcId } from "../../../base/errors.ts";
import type { RpcMessage } from "../../protocol/rpc_messages.ts";
import { MessageRouter } from "../duplex/message_router.ts";
import type {
  HttpCall,
  HttpReply,
  HttpTransport,
} from "../http/http_transport.ts";
import {
  type FailureKind,
  ServerFailure,
  SessionLost,
} from "../failures/server_failure.ts";
import type { McpAddress } from "../mcp_settings.ts";
import type { LegacyLink, RequestSender } from "../server_links.ts";

/** A session over HTTP with SSE (MCP 2024-11-05, "Transports"): a stream, which the first request opens, and a POST for each message. */
export class SseLink implements LegacyLink {
  readonly sessionId = undefined;
  readonly isStateful = true;
  revision: string | undefined;
  readonly #server: string;
  readonly #http: HttpTransport;
  /** Of the stream. */
  readonly #address: McpAddress;
  readonly #router: MessageRouter;
  readonly #closing = new Cancellation();
  #opening: Promise<string> | undefined;

  constructor(server: string, http: HttpTransport, address: McpAddress) {
    this.#server = server;
    this.#http = http;
    this.#address = address;
    this.#router = new MessageRouter((text, cancellation) =>
      this.#send(text, cancellation)
    );
  }

  async *exchange(
    text: string,
    id: JsonRpcId,
    cancellation: Cancellation,
    sender?: RequestSender,
  ): AsyncGenerator<RpcMessage, void> {
    await this.#open(cancellation);
    yield* this.#router.exchange(id, text, cancellation, sender);
  }

  async post(text: string, cancellation: Cancellation): Promise<void> {
    await this.#send(text, cancellation);
  }

  listen(
    cancellation: Cancellation,
    onOpen: () => void,
  ): AsyncGenerator<RpcMessage, void> {
    onOpen();
    return this.#router.listen(cancellation);
  }

  end(): Promise<void> {
    this.#closing.cancel(this.#failure("broken", "is not used any more"));
    return Promise.resolve();
  }

  /** Opens the stream; returns the path for messages. @throws {SessionLost} When the stream has ended. */
  async #open(cancellation: Cancellation): Promise<string> {
    if (this.#router.isOver) {
      throw new SessionLost(`MCP server "${this.#server}" ended the stream`);
    }
    const opening = this.#opening ??= this.#connect();
    return await unlessCancelled(opening, cancellation);
  }

  #connect(): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#read(resolve).catch((error) => error).then((error: unknown) => {
      const failure = error ?? this.#failure("broken", "ended the stream");
      reject(failure);
      this.#router.end(failure);
    });
    return promise;
  }

  async #read(onPath: (path: string) => void): Promise<void> {
    const reply = await this.#call("GET", this.#closing);
    const messages = reply.messages({
      lastId: undefined,
      retryMs: undefined,
      onEndpoint: (url) => onPath(this.#pathOf(url)),
    });
    for await (const message of messages) this.#router.receive(message);
  }

  async #send(
    text: string,
    cancellation: Cancellation = this.#closing,
  ): Promise<void> {
    const path = await this.#open(cancellation);
    (await this.#call("POST", cancellation, { path, content: text })).cancel();
  }

  async #call(
    method: "GET" | "POST",
    cancellation: Cancellation,
    parts: Pick<HttpCall, "path" | "content"> = {},
  ): Promise<HttpReply> {
    const headers: [string, string][] = this.revision === undefined
      ? []
      : [["mcp-protocol-version", this.revision]];
    const call = { method, headers, cancellation, ...parts };
    const reply = await this.#http.call(call);
    const { status } = reply;
    if (status < 300) return reply;
    if (status === 401 || status === 403) {
      throw this.#failure("rejected", `rejects the gateway with ${status}`);
    }
    if (method === "POST" && (status === 404 || status === 410)) {
      throw new SessionLost(`MCP server "${this.#server}" lost the session`);
    }
    const kind = method === "GET" ? "unreachable" : "failed";
    throw this.#failure(kind, `responds with status ${status}`);
  }

  /** Messages have credentials: they must not go to another origin. @throws {ServerFailure} */
  #pathOf(url: string): string {
    const { authority, path } = this.#address;
    const found = URL.parse(url, `http://${authority}${path}`);
    const own = found && URL.parse(`${found.protocol}//${authority}`);
    if (found === null || found.host !== own?.host) {
      throw this.#failure("invalid", "names an endpoint of another origin");
    }
    return found.pathname + found.search;
  }

  #failure(kind: FailureKind, problem: string): ServerFailure {
    return new ServerFailure(this.#server, kind, problem);
  }
}
