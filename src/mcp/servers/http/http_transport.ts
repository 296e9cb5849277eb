import type { Cancellation } from "../../../base/cancellation.ts";
import { GatewayError } from "../../../base/errors.ts";
import { isFieldValue } from "../../../http/field_syntax.ts";
import { type Body, BytesBody, textBody } from "../../../http/body.ts";
import type { UpstreamRequest } from "../../../http/client/upstream.ts";
import { HeaderList } from "../../../http/header_list.ts";
import type { ResponseMessage } from "../../../http/message.ts";
import { LongEvent, readEvents } from "../../protocol/events.ts";
import {
  parseRpc,
  readMessage,
  type RpcError,
  type RpcMessage,
} from "../../protocol/rpc_messages.ts";
import { ServerFailure } from "../failures/server_failure.ts";
import type { McpAddress } from "../mcp_settings.ts";
import { isListChange } from "../server_connection.ts";
import type { ConnectorOptions } from "../server_connector.ts";
import type { SendCall } from "../server_links.ts";

/** Message of a request to a server as JSON, or the tool that the request stands for. */
export type SentMessage = string | Uint8Array | { readonly tool: string };

/**
 * Sends a request to the server; resolves with the head of the response.
 * @param message `undefined` for a request that carries none.
 */
export type SendHttp = (
  request: UpstreamRequest,
  body: Body | undefined,
  cancellation: Cancellation,
  message?: SentMessage,
) => Promise<ResponseMessage>;

/** Limit of one message of a server. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** Place in a stream of events, from which it can be resumed. */
export interface StreamPlace {
  lastId: string | undefined;
  retryMs: number | undefined;
  /** Called with the path that an event of the type `endpoint` names (MCP 2024-11-05, "Transports"). */
  onEndpoint?: (url: string) => void;
}

/** The response of a server to one HTTP request. */
export interface HttpReply {
  readonly status: number;
  readonly sessionId: string | undefined;
  /** The error in the body of a status that is no success. */
  readonly error: RpcError | undefined;
  readonly isStream: boolean;
  /** Messages of a success; must be read to the end or returned. */
  messages(place?: StreamPlace): AsyncGenerator<RpcMessage, void>;
  /** Leaves the body unread, in place of `messages`. */
  cancel(): void;
}

/** Content of an HTTP request. */
export interface HttpCall {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly content?: string | Uint8Array;
  /** Names of the client; none for requests of the gateway's own. */
  readonly owners?: readonly string[] | undefined;
  /** The head of the response, if the request has been sent already. */
  readonly begun?: Promise<ResponseMessage> | undefined;
  readonly cancellation: Cancellation;
  /** Path and query, in place of those of the address. */
  readonly path?: string;
}

/** Dependencies of the requests to a server. */
type TransportOptions = Pick<ConnectorOptions, "settings" | "onListsChanged">;

/** HTTP requests to one server. */
export class HttpTransport {
  readonly #server: string;
  readonly #address: McpAddress;
  readonly #send: SendHttp;
  readonly #onListsChanged: () => void;

  constructor(
    address: McpAddress,
    send: SendHttp,
    { settings, onListsChanged }: TransportOptions,
  ) {
    this.#server = settings.name;
    this.#address = address;
    this.#send = send;
    this.#onListsChanged = onListsChanged;
  }

  /**
   * Sends a request, and reads the body of an error.
   * @throws {ServerFailure} `unreachable`, `broken`, `invalid`, or the reason of the cancellation.
   */
  async call(call: HttpCall): Promise<HttpReply> {
    const response = await this.#exchange(call);
    const { status, headers, body } = response;
    const sessionId = headers.get("mcp-session-id");
    const type = headers.getJoined("content-type") ?? "";
    const isStream = /^\s*text\/event-stream\b/i.test(type);
    if (call.method === "POST" && status >= 300 && status < 400) {
      body?.cancel("redirected");
      throw this.#redirect(status, headers);
    }
    if (status < 200 || status > 299) {
      const text = await this.#readText(body, MAX_ERROR_BYTES);
      // A long text is a page for humans.
      const error = text === undefined ? undefined : readError(text);
      return { status, sessionId, error, isStream, ...noBody };
    }
    if (status === 202 || status === 204 || body === undefined) {
      body?.cancel("accepted");
      return {
        status,
        sessionId,
        error: undefined,
        isStream,
        ...noBody,
      };
    }
    return {
      status,
      sessionId,
      error: undefined,
      isStream,
      messages: (place) =>
        isStream
          ? this.#readStream(body, call.cancellation, place)
          : this.#readJson(body, call.cancellation),
      cancel: () => body.cancel("unread"),
    };
  }

  async #exchange(call: HttpCall): Promise<ResponseMessage> {
    const { cancellation, begun } = call;
    try {
      return await (begun ?? this.send(call));
    } catch (error) {
      throw cancellation.cancelled ? cancellation.reason : this.#failed(error);
    }
  }

  /** Sends a request; resolves with the head of the response, from which `call` goes on with `begun`. */
  send(
    { headers, content, cancellation, ...call }: HttpCall,
  ): Promise<ResponseMessage> {
    const body = bodyOf(content);
    const fields = this.#fieldsOf(headers, body !== undefined);
    const request = this.#requestOf(call, fields, body);
    return this.#send(request, body, cancellation, content);
  }

  /** Prepares POST requests with the same header fields. */
  prepare(headers: HttpCall["headers"]): SendCall {
    const fields = this.#fieldsOf(headers, true);
    return (content, owners, cancellation) => {
      const body = new BytesBody(content);
      const request = this.#requestOf({ method: "POST", owners }, fields, body);
      return this.#send(request, body, cancellation, content);
    };
  }

  /** Returns the header fields of a request, except for the length of its content. */
  #fieldsOf(
    headers: HttpCall["headers"],
    hasContent: boolean,
  ): readonly string[] {
    const fields = [
      "accept",
      "application/json, text/event-stream",
      "accept-encoding",
      "identity",
    ];
    if (hasContent) fields.push("content-type", "application/json");
    const list = new HeaderList(fields);
    for (const [name, value] of headers) {
      if (isFieldValue(value)) list.append(name, value);
    }
    for (const [name, value] of this.#address.headers) list.set(name, value);
    return fields;
  }

  #requestOf(
    { method, owners = [], path = this.#address.path }: Pick<
      HttpCall,
      "method" | "owners" | "path"
    >,
    fields: readonly string[],
    body: BytesBody | undefined,
  ): UpstreamRequest {
    const own = fields.slice();
    if (body !== undefined) own.push("content-length", String(body.length));
    return {
      method,
      target: path,
      authority: this.#address.authority,
      headers: new HeaderList(own),
      upgrade: undefined,
      expectsContinue: false,
      sendInformational: ignoreInformational,
      owners,
    };
  }

  #failed(cause: unknown): ServerFailure {
    if (cause instanceof ServerFailure) return cause;
    const code = cause instanceof GatewayError ? cause.code : "internal";
    if (code === "upstream_overloaded") {
      return this.#failure("failed", "has no connection left", cause);
    }
    return ranAway.has(code)
      ? this.#failure("broken", "closed the connection", cause)
      : this.#failure("unreachable", "is not reachable", cause);
  }

  #failure(
    kind: ServerFailure["kind"],
    problem: string,
    cause?: unknown,
  ): ServerFailure {
    return new ServerFailure(this.#server, kind, problem, { cause });
  }

  /** Returns a body as text; `undefined` if it is longer than the limit. @throws {ServerFailure} */
  async #readText(
    body: Body | undefined,
    limit: number,
  ): Promise<string | undefined> {
    if (body === undefined) return "";
    const decoder = new TextDecoder();
    let text = "";
    try {
      for (;;) {
        const chunk = await body.read();
        if (chunk === undefined) return text + decoder.decode();
        text += decoder.decode(chunk, { stream: true });
        if (text.length > limit) break;
      }
    } catch (error) {
      throw this.#failed(error);
    }
    body.cancel("too long");
    return undefined;
  }

  async *#readJson(
    body: Body,
    cancellation: Cancellation,
  ): AsyncGenerator<RpcMessage, void> {
    try {
      const text = await this.#readText(body, MAX_MESSAGE_BYTES);
      if (text === undefined) throw this.#tooLong();
      for (const message of this.#messagesIn(text)) {
        if (message === undefined) throw this.#noMessage();
        yield message;
      }
    } catch (error) {
      throw cancellation.cancelled ? cancellation.reason : error;
    }
  }

  async *#readStream(
    body: Body,
    cancellation: Cancellation,
    place: StreamPlace = { lastId: undefined, retryMs: undefined },
  ): AsyncGenerator<RpcMessage, void> {
    let isValid = true;
    try {
      for await (const event of readEvents(body, MAX_MESSAGE_BYTES)) {
        place.lastId = event.lastId ?? place.lastId;
        place.retryMs = event.retryMs ?? place.retryMs;
        if (event.type === "endpoint") place.onEndpoint?.(event.data);
        if (event.type !== "message" || event.data === "") continue;
        for (const message of this.#messagesIn(event.data)) {
          if (message === undefined) isValid = false;
          else yield message;
        }
      }
    } catch (error) {
      if (cancellation.cancelled) throw cancellation.reason;
      if (error instanceof LongEvent) throw this.#tooLong();
      throw error instanceof GatewayError ? this.#failed(error) : error;
    }
    // Clients of SDKs pass over such events, too; but here, one may have been the response.
    if (!isValid) throw this.#noMessage();
  }

  /** Yields the messages of a text; `undefined` for each that is none. */
  *#messagesIn(text: string): Generator<RpcMessage | undefined, void> {
    const value = parseRpc(text);
    for (const each of Array.isArray(value) ? value : [value]) {
      const message = readMessage(each);
      if (message !== undefined && isListChange(message)) {
        this.#onListsChanged();
      }
      yield message;
    }
  }

  #tooLong(): ServerFailure {
    return this.#failure("invalid", "sent a message that is too long");
  }

  /** Only administrators learn where to: their log has causes. */
  #redirect(status: number, headers: HeaderList): ServerFailure {
    const [target] = headers.get("location")?.split("?") ?? ["nowhere"];
    const problem = "redirects requests, which the gateway does not follow";
    const cause = new Error(`status ${status} to "${target}"`);
    return this.#failure("invalid", problem, cause);
  }

  #noMessage(): ServerFailure {
    return this.#failure("invalid", "sent a response that is not JSON-RPC");
  }
}

/** Errors after which the server may have handled the request. */
const ranAway: ReadonlySet<string> = new Set([
  "upstream_closed",
  "upstream_protocol_error",
  "upstream_timeout",
]);

const noBody: Pick<HttpReply, "messages" | "cancel"> = {
  messages: async function* () {},
  cancel: () => {},
};

/** Nobody waits for interim responses. */
function ignoreInformational(): void {}

function bodyOf(
  content: string | Uint8Array | undefined,
): BytesBody | undefined {
  if (content === undefined) return undefined;
  return typeof content === "string"
    ? textBody(content)
    : new BytesBody(content);
}

function readError(text: string): RpcError | undefined {
  const message = readMessage(parseRpc(text));
  return message?.kind === "error" ? message.error : undefined;
}
