import { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import { GatewayError } from "../../base/errors.ts";
import { HeaderList } from "../../http/header_list.ts";
import { RpcText } from "../../mcp/direct/rpc_text.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { Caller } from "../../identity/backend_tokens/backend_credentials.ts";
import type { ServerChange } from "../../mcp/clients/changes.ts";
import type { EndpointRequest } from "../../mcp/endpoint/endpoint_request.ts";
import type { SeesTools } from "../../mcp/servers/server_connection.ts";
import { EventQueue } from "../../mcp/streams/event_queue.ts";
import {
  ALL,
  type Fields,
  RelayChannel,
  type RelayMessage,
} from "./relay_channel.ts";
import { ToolQuestions } from "./tool_questions.ts";

/** A request that another worker handles. */
interface SentRequest {
  readonly worker: number;
  accept(instance: string): void;
  /** The instance of the worker that has accepted it. */
  readonly instance: string | undefined;
  respond(status: number, headers: Fields): void;
  /** The other worker cannot finish the response. */
  fail(): void;
  readonly body: EventQueue;
  readonly sees: SeesTools | undefined;
}

/** Handles a request in this worker; `undefined` if it has no such backend. */
type HandleRequest = (
  backend: string,
  request: EndpointRequest,
  caller: Caller | undefined,
) => Promise<ResponseMessage> | undefined;

/** Takes a change at a server that another worker has noticed. @param endpoint Its key, the same in all workers. */
type LearnChange = (endpoint: string, change: ServerChange) => void;

/** A worker that does not accept a request in this time has ended. */
const ACCEPT_MS = 1000;

/** Clients are told of a change after more than this time. */
const LATE_MS = 20;

/** Passes requests to the worker that has the state of a session, or of a call that waits for its client. */
export class WorkerRelay {
  /** Number of this worker, from 1. */
  readonly worker: number;
  readonly #channel: RelayChannel;
  readonly #questions: ToolQuestions;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Differs from that of a worker with the same number before. */
  readonly #instance = crypto.randomUUID();
  readonly #sent = new Map<number, SentRequest>();
  /** Requests of other workers, by worker and id. */
  readonly #received = new Map<string, Cancellation>();
  #lastId = 0;
  #handle: HandleRequest = () => undefined;
  #learn: LearnChange = () => {};

  /** @param secret Names the channel: other gateways of the process have others. */
  constructor(
    secret: string,
    worker: number,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.worker = worker;
    this.#clock = clock;
    this.#log = log;
    this.#channel = new RelayChannel(
      secret,
      worker,
      (message) => this.#receive(message),
    );
    this.#questions = new ToolQuestions(this.#channel, clock);
    // One that replaces another knows nothing of its requests.
    this.#channel.post(ALL, 0, { kind: "started", instance: this.#instance });
  }

  /** Handles the requests of other workers, and takes the changes that they notice, from now on. */
  serve(handle: HandleRequest, learn: LearnChange): void {
    this.#handle = handle;
    this.#learn = learn;
  }

  /** Tells all other workers of a change at a server. */
  announce(endpoint: string, change: ServerChange): void {
    const sentAt = this.#clock.now();
    this.#channel.post(ALL, 0, { kind: "change", endpoint, change, sentAt });
  }

  /** Sends a request to a worker; resolves to `undefined` if that has ended. */
  async send(
    worker: number,
    backend: string,
    { method, headers, text, user, owners, sees, cancellation }:
      EndpointRequest,
    caller: Caller | undefined,
  ): Promise<ResponseMessage | undefined> {
    const id = ++this.#lastId;
    const leave = () => this.#channel.post(worker, id, { kind: "leave" });
    const accepted = Promise.withResolvers<boolean>();
    const response = Promise.withResolvers<ResponseMessage>();
    const body = new EventQueue(this.#clock, leave);
    let instance: string | undefined;
    this.#sent.set(id, {
      worker,
      body,
      sees,
      get instance() {
        return instance;
      },
      accept: (by) => {
        instance = by;
        accepted.resolve(true);
      },
      respond: (status, fields) =>
        response.resolve({ status, headers: HeaderList.from(fields), body }),
      fail: () => {
        response.reject(otherFailed());
        body.end();
      },
    });
    const stop = this.#clock.setTimer(() => accepted.resolve(false), ACCEPT_MS);
    const fields: Fields = Array.from(
      headers,
      ([name, value]) => [name, value],
    );
    const content = {
      ...{ backend, method, user, owners },
      headers: fields,
      text: text.text,
    };
    const hidesTools = sees !== undefined;
    this.#channel.post(worker, id, {
      kind: "request",
      ...content,
      hidesTools,
      caller,
    });
    const isAccepted = await accepted.promise;
    stop();
    if (!isAccepted) {
      this.#sent.delete(id);
      return undefined;
    }
    const unsubscribe = cancellation.onCancel((reason) => {
      leave();
      response.reject(reason);
    });
    return await response.promise.finally(unsubscribe);
  }

  /** Ends the channel. */
  close(): void {
    this.#channel.close();
    for (const { body } of this.#sent.values()) body.end();
    this.#sent.clear();
  }

  #receive(message: RelayMessage): void {
    const { from, id } = message;
    if (message.kind === "request") return void this.#run(message);
    if (message.kind === "started") return this.#failLost(message);
    if (message.kind === "change") return this.#takeChange(message);
    if (message.kind === "leave") {
      this.#received.get(`${from} ${id}`)?.cancel(clientHasLeft());
      return;
    }
    if (message.kind === "verdicts") {
      return this.#questions.take(message);
    }
    const sent = this.#sent.get(id);
    if (message.kind === "judge") {
      return void this.#questions.answer(message, sent?.sees);
    }
    if (message.kind === "accepted") sent?.accept(message.instance);
    else if (message.kind === "head") {
      sent?.respond(message.status, message.headers);
    } else if (message.kind === "part") sent?.body.writeRaw(message.text);
    else {
      if (message.kind === "failed") sent?.fail();
      sent?.body.end();
      this.#sent.delete(id);
    }
  }

  /** One that comes late is repeated: clients that were told already may have got the old list here. */
  #takeChange(
    { endpoint, change, sentAt }: Extract<RelayMessage, { kind: "change" }>,
  ): void {
    this.#learn(endpoint, change);
    if (sentAt === undefined || this.#clock.now() - sentAt < LATE_MS) return;
    this.#channel.post(ALL, 0, {
      kind: "change",
      endpoint,
      change,
      sentAt: undefined,
    });
  }

  #failLost({ from, instance }: { from: number; instance: string }): void {
    for (const [id, sent] of this.#sent) {
      const isLost = sent.worker === from && sent.instance !== undefined &&
        sent.instance !== instance;
      if (!isLost) continue;
      this.#sent.delete(id);
      sent.fail();
    }
  }

  async #run(
    { from, id, backend, method, headers, text, user, owners, ...options }:
      Extract<RelayMessage, { kind: "request" }>,
  ): Promise<void> {
    const cancellation = new Cancellation();
    const key = `${from} ${id}`;
    const handled = this.#handle(backend, {
      method,
      headers: HeaderList.from(headers),
      text: new RpcText(text),
      user,
      owners,
      sees: options.hidesTools
        ? (names) => this.#questions.ask(from, id, names)
        : undefined,
      cancellation,
    }, options.caller);
    if (handled === undefined) return;
    this.#received.set(key, cancellation);
    const instance = this.#instance;
    this.#channel.post(from, id, { kind: "accepted", instance });
    try {
      const response = await handled;
      const fields: Fields = Array.from(
        response.headers,
        ([name, value]) => [name, value],
      );
      this.#channel.post(from, id, {
        kind: "head",
        status: response.status,
        headers: fields,
      });
      await this.#passBody(from, id, response, cancellation);
      this.#channel.post(from, id, { kind: "end" });
    } catch (error) {
      this.#channel.post(from, id, { kind: "failed" });
      if (cancellation.cancelled) return;
      this.#log.error("Cannot handle an MCP request of another worker", {
        backend,
        error,
      });
    } finally {
      this.#received.delete(key);
    }
  }

  async #passBody(
    to: number,
    id: number,
    { body }: ResponseMessage,
    cancellation: Cancellation,
  ): Promise<void> {
    if (body === undefined) return;
    const unsubscribe = cancellation.onCancel((reason) => body.cancel(reason));
    const decoder = new TextDecoder();
    for (;;) {
      const chunk = await body.read();
      if (chunk === undefined) break;
      const text = decoder.decode(chunk, { stream: true });
      this.#channel.post(to, id, { kind: "part", text });
    }
    unsubscribe();
  }
}

function otherFailed(): GatewayError {
  const message = "The worker that has the session failed";
  return new GatewayError("internal", "gateway", message);
}

function clientHasLeft(): GatewayError {
  const message = "The client has left the other worker";
  return new GatewayError("client_closed", "downstream", message);
}
