import { type JsonObject, stringMember } from "../../base/json.ts";
import {
  RPC,
  RpcFailure,
  writeNotification,
} from "../protocol/rpc_messages.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type { RequestSide } from "../servers/server_connection.ts";
import { ServerFailure } from "../servers/failures/server_failure.ts";
import type { Client } from "../clients/client.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import { ServerNews } from "../clients/server_news.ts";
import type { MessageStream } from "../streams/message_stream.ts";
import type { PendingQuestions } from "./pending_questions.ts";

const MAX_SUBSCRIPTIONS = 256;

/** A client that has begun tasks. */
type SessionClient = Client & Required<Pick<Client, "tasks">>;

/** News of the servers for the client of a session: what belongs to no request, and the resources to which it has subscribed. */
export class SessionNews {
  readonly #client: SessionClient;
  readonly #services: EndpointServices;
  readonly #questions: PendingQuestions;
  /** Resources of which the client wants to hear, by server. */
  readonly #subscriptions = new Map<McpServer, Set<string>>();
  #news: ServerNews | undefined;

  constructor(
    client: SessionClient,
    services: EndpointServices,
    questions: PendingQuestions,
  ) {
    this.#client = client;
    this.#services = services;
    this.#questions = questions;
  }

  /** Sends news to a stream, unless they go to one already. */
  open(stream: MessageStream): void {
    const send = (text: string) => stream.send(text);
    this.#news ??= new ServerNews({
      services: this.#services,
      user: this.#client.user,
      taskIds: this.#client.tasks,
      resourceUris: (server) => [...this.#subscriptions.get(server) ?? []],
      connect: (server) => this.#client.connect(server),
      notify: (method, params) => send(writeNotification(method, params)),
      ask: (requests) => this.#questions.ask(requests, send),
      closesConnections: false,
    });
  }

  /** Ends the streams from the servers; subscriptions stay. */
  stop(): void {
    this.#news?.close();
    this.#news = undefined;
  }

  /** Subscribes to a resource, or ends that. At servers without sessions, the stream of news names the resources. */
  async subscribe(
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const { methods } = this.#services;
    const { server, key } = await methods.findResource(
      this.#client,
      stringMember(params, "uri") ?? "",
    );
    const isNew = method === "resources/subscribe";
    const uris = this.#subscriptions.getOrInsertComputed(
      server,
      () => new Set(),
    );
    if (isNew && uris.size >= MAX_SUBSCRIPTIONS) {
      throw new RpcFailure(RPC.INVALID_REQUEST, "Too many subscriptions");
    }
    const { about } = await this.#client.connect(server).catch(toRpcFailure);
    const result = about.era === "legacy"
      ? await methods.handle(this.#client, method, params, side)
      : {};
    if (isNew) uris.add(key);
    else uris.delete(key);
    if (about.era === "modern") this.#news?.refresh(server);
    return result;
  }
}

function toRpcFailure(error: unknown): never {
  throw error instanceof ServerFailure
    ? new RpcFailure(RPC.INTERNAL_ERROR, error.message)
    : error;
}
