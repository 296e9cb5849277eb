import type { Cancellation } from "../../base/cancellation.ts";
import { recentTime } from "../../base/clock.ts";
import type { JsonRpcId } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ResponseMessage } from "../../http/message.ts";
import {
  RPC,
  RpcFailure,
  type RpcMessage,
  writeError,
  writeNotification,
  writeResult,
} from "../protocol/rpc_messages.ts";
import {
  isLogLevel,
  LEGACY_REVISION,
  passingMeta,
} from "../protocol/revisions.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type {
  RequestSide,
  ServerConnection,
  ServerSession,
} from "../servers/server_connection.ts";
import { Answer, jsonResponse } from "../streams/rpc_answer.ts";
import type { Client } from "../clients/client.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import { readEventId } from "../streams/message_stream.ts";
import { PendingQuestions } from "./pending_questions.ts";
import { type RunningRequest, RunningRequests } from "./running_requests.ts";
import { failureForEra, resultForEra } from "../clients/revision_results.ts";
import type { SessionFacts } from "./session_id.ts";
import { SessionNews } from "./session_news.ts";
import { SessionServers } from "./session_servers.ts";
import { isNewsStream, SessionStreams } from "./session_streams.ts";

type Request = Extract<RpcMessage, { kind: "request" }>;

/** Requests under way. */
const MAX_RUNNING = 256;
/** Length in bytes of an answer that fits into a packet: a client has it as a whole, or has no id of an event to come back with. */
const SHORT_ANSWER = 1024;
/** Messages of a server before the client has chosen a level. */
const DEFAULT_LEVEL = "info";

/** Facts about the arrival of the requests of a POST. */
interface Arrival extends Pick<RequestSide, "owners" | "sees" | "begun"> {
  readonly acceptsEvents: boolean;
}

/** An answer that is there as a whole. */
interface WholeAnswer {
  acceptsEvents(): boolean;
  /** In bytes, about. */
  readonly length: number;
  /** Writes the answer between two texts. */
  write(before: string, after: string): Uint8Array;
}

/** The session of a client of the legacy era: its conversations with the servers, its requests and its streams. */
export class ClientSession implements Client {
  readonly era = "legacy";
  readonly facts: SessionFacts;
  readonly tasks = new Set<string>();
  /** Monotonic time of the last request. */
  usedAt: number;
  readonly #services: EndpointServices;
  readonly #servers: SessionServers;
  readonly #running = new RunningRequests();
  readonly #streams: SessionStreams;
  readonly #questions: PendingQuestions;
  readonly #news: SessionNews;
  #level = DEFAULT_LEVEL;

  constructor(facts: SessionFacts, services: EndpointServices) {
    this.facts = facts;
    this.#services = services;
    this.#servers = new SessionServers(this, facts.servers);
    this.#questions = new PendingQuestions(services.clock, facts.capabilities);
    this.#streams = new SessionStreams(
      services.clock,
      facts.revision === LEGACY_REVISION,
    );
    this.#news = new SessionNews(this, services, this.#questions);
    this.usedAt = services.clock.monotonic();
  }

  get user(): string {
    return this.facts.user;
  }

  get capabilities(): JsonObject {
    return this.facts.capabilities;
  }

  /** True while a request is under way, or a stream is open. */
  get isBusy(): boolean {
    return this.#running.size > 0 || this.#streams.isConnected;
  }

  async connect(server: McpServer): Promise<ServerConnection> {
    return await this.#servers.connect(server);
  }

  current(server: McpServer): ServerConnection | undefined {
    return this.#servers.current(server);
  }

  /** Returns the sessions at the servers, by name. */
  serverSessions(): Promise<Readonly<Record<string, ServerSession>>> {
    return this.#servers.sessions();
  }

  async converse<T>(
    server: McpServer,
    work: (connection: ServerConnection) => Promise<T>,
  ): Promise<T> {
    return await work(await this.connect(server));
  }

  /** Handles requests of one POST. */
  handle(
    requests: readonly Request[],
    arrival: Arrival,
  ): Promise<ResponseMessage> {
    const answer = this.#beginAnswer(arrival);
    const [only, ...others] = requests;
    if (only === undefined) answer.abandon();
    else if (others.length === 0) {
      void this.#run(only, arrival, answer, (text) => answer.finish(text));
    } else void this.#runBatch(requests, arrival, answer);
    return answer.response;
  }

  /** Reports whether another request can run, with this id. */
  canRun(id: JsonRpcId): boolean {
    return !this.#running.has(id) && this.#running.size < MAX_RUNNING;
  }

  /** Opens a request that can run, for somebody who calls `respond` or `goOn`. */
  open(id: JsonRpcId): RunningRequest {
    return this.#running.add(id);
  }

  /** Ends an open request with its answer, which is the only message. */
  respond(
    open: RunningRequest,
    { acceptsEvents, length, write }: WholeAnswer,
  ): ResponseMessage {
    this.#running.delete(open);
    this.usedAt = recentTime(this.#services.clock);
    return length > SHORT_ANSWER && acceptsEvents()
      ? this.#streams.create().deliver(write)
      : jsonResponse(write("", ""));
  }

  /** Handles an open request as `handle` does. */
  goOn(
    request: Request,
    arrival: Arrival,
    open: RunningRequest,
  ): Promise<ResponseMessage> {
    const answer = this.#beginAnswer(arrival);
    const finish = (text: string) => answer.finish(text);
    void this.#runOpen(request, arrival, answer, finish, open);
    return answer.response;
  }

  #beginAnswer({ acceptsEvents }: Arrival): Answer {
    const stream = acceptsEvents ? this.#streams.create() : undefined;
    const answer = new Answer(this.#services.clock, stream);
    // A client whose connection breaks can come back for the result.
    answer.begin();
    return answer;
  }

  /** Takes a notification or a response of the client; returns whether it was expected. */
  take(message: RpcMessage): boolean {
    if (message.kind === "notification") {
      this.#takeNotification(message.method, message.params);
      return true;
    }
    return this.#questions.answer(message);
  }

  /** Opens the stream of what belongs to no request, or resumes any stream. */
  listen(lastEventId: string | undefined): ResponseMessage | undefined {
    const last = lastEventId === undefined
      ? undefined
      : readEventId(lastEventId);
    if (last !== undefined && !isNewsStream(last.stream)) {
      return this.#streams.ofRequest(last.stream)?.connect(last.id);
    }
    const stream = this.#streams.news(() => this.#news.stop());
    const response = stream.connect(last?.id);
    this.#news.open(stream);
    return response;
  }

  /** Ends the stream of news: the client continues the session elsewhere. Requests under way finish. */
  leave(): void {
    this.#news.stop();
    this.#streams.endNews();
  }

  /** Ends requests and streams; the client can continue the session elsewhere. */
  suspend(): void {
    this.leave();
    this.#questions.close();
    this.#running.cancelAll(cancelled);
    this.#streams.close();
  }

  /** Ends the session, also at the servers. */
  async close(): Promise<void> {
    this.suspend();
    await this.#servers.close();
  }

  async #runBatch(
    requests: readonly Request[],
    arrival: Arrival,
    answer: Answer,
  ) {
    const texts: string[] = [];
    await Promise.all(
      requests.map((each) =>
        this.#run(each, arrival, answer, (text) => texts.push(text))
      ),
    );
    answer.finish(`[${texts.join(",")}]`);
  }

  async #run(
    request: Request,
    arrival: Arrival,
    answer: Answer,
    finish: (text: string) => void,
  ): Promise<void> {
    const { id } = request;
    if (!this.canRun(id)) {
      const message = "The id is in use, or too many requests are under way";
      return finish(writeError(id, { code: RPC.INVALID_REQUEST, message }));
    }
    const open = this.#running.add(id);
    await this.#runOpen(request, arrival, answer, finish, open);
  }

  async #runOpen(
    { id, method, params }: Request,
    arrival: Arrival,
    answer: Answer,
    finish: (text: string) => void,
    open: RunningRequest,
  ): Promise<void> {
    const { cancellation } = open;
    try {
      const side = this.#sideOf(params, cancellation, answer, arrival);
      const { _meta: _, ...own } = params;
      const result = await this.#dispatch(method, own, side);
      finish(writeResult(id, resultForEra("legacy", method, result)));
    } catch (error) {
      if (cancellation.cancelled) return answer.abandon();
      finish(writeError(id, this.#failureOf(method, error)));
    } finally {
      arrival.begun?.leave();
      this.#running.delete(open);
      this.usedAt = this.#services.clock.monotonic();
    }
  }

  async #dispatch(
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    switch (method) {
      case "ping":
        return {};
      case "logging/setLevel":
        return await this.#setLevel(params["level"], side);
      case "resources/subscribe":
      case "resources/unsubscribe":
        return await this.#news.subscribe(method, params, side);
      default:
        return await this.#services.methods.handle(this, method, params, side);
    }
  }

  #failureOf(method: string, error: unknown): RpcFailure {
    if (error instanceof RpcFailure) {
      return failureForEra("legacy", method, error);
    }
    this.#services.log.error("Cannot handle an MCP request", { method, error });
    return new RpcFailure(RPC.INTERNAL_ERROR, "Internal error");
  }

  #sideOf(
    params: JsonObject,
    cancellation: Cancellation,
    answer: Answer,
    { owners, sees, begun }: Arrival,
  ): RequestSide {
    const meta = params["_meta"];
    const token = Object(meta)["progressToken"];
    const send = (text: string) => answer.send(text);
    return {
      ...{ client: this, cancellation, owners, sees, begun },
      progressToken: typeof token === "string" || typeof token === "number"
        ? token
        : undefined,
      logLevel: this.#level,
      meta: passingMeta(params),
      takesInputRequired: false,
      notify: (method, params) => send(writeNotification(method, params)),
      ask: (requests) => {
        if (answer.canStream) return this.#questions.ask(requests, send);
        const message = "The client accepts no event streams";
        throw new RpcFailure(RPC.INTERNAL_ERROR, message);
      },
    };
  }

  async #setLevel(level: unknown, side: RequestSide): Promise<JsonObject> {
    if (!isLogLevel(level)) {
      throw new RpcFailure(RPC.INVALID_PARAMS, "Invalid log level");
    }
    this.#level = level;
    await this.#servers.setLevel(level, side);
    return {};
  }

  #takeNotification(method: string, params: JsonObject): void {
    if (method === "notifications/cancelled") {
      const { requestId } = params;
      if (typeof requestId !== "string" && typeof requestId !== "number") {
        return;
      }
      this.#running.cancel(requestId, cancelled);
    } else if (method === "notifications/roots/list_changed") {
      this.#servers.notify(method);
    }
  }
}

const cancelled = new RpcFailure(
  RPC.INTERNAL_ERROR,
  "The request was cancelled",
);
