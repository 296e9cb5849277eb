import type { JsonRpcId } from "../../base/errors.ts";
import { inTime } from "../../base/clock.ts";
import { type JsonObject, listAt } from "../../base/json.ts";
import type { ResponseMessage } from "../../http/message.ts";
import {
  RPC,
  RpcFailure,
  writeNotification,
  writeResult,
} from "../protocol/rpc_messages.ts";
import { META, metaOf, TASKS_EXTENSION } from "../protocol/revisions.ts";
import { takesTasks } from "../servers/awaited_tasks.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type { Client } from "../clients/client.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import { MessageStream } from "../streams/message_stream.ts";
import { resultForEra } from "../clients/revision_results.ts";
import { ServerNews } from "../clients/server_news.ts";

/** Resources, and tasks, of a subscription. */
const MAX_OBSERVED = 256;

/** A subscription of a client of the modern era (`subscriptions/listen`). */
export interface OpenSubscription {
  readonly response: ResponseMessage;
  readonly isOver: boolean;
  /** Ends it with a result: the gateway goes. */
  end(): void;
}

/** Members of the filter, by the notification that they request. */
const lists = {
  "notifications/tools/list_changed": "toolsListChanged",
  "notifications/prompts/list_changed": "promptsListChanged",
  "notifications/resources/list_changed": "resourcesListChanged",
} as const;

/** A server that does not open its stream in this time does not hold up the subscription. */
const OPEN_MS = 500;
/** Notifications that wait for the confirmation; with more, it does not wait for servers either. */
const MAX_EARLY = 256;

/**
 * Opens a subscription; confirms it once the servers send what happens from then on.
 * @throws {RpcFailure} For a filter that is invalid.
 */
export async function openSubscription(
  id: JsonRpcId,
  filter: JsonObject,
  client: Client,
  services: EndpointServices,
  onEnd: () => void,
): Promise<OpenSubscription> {
  const uris = readTexts(filter, "resourceSubscriptions");
  const taskIds = readTasks(filter, client);
  const places = await findResources(uris, client, services);
  const open: { news?: ServerNews } = {};
  const onLeave = () => {
    open.news?.close();
    onEnd();
  };
  const { clock } = services;
  const options = { clock, onLeave, name: undefined, primes: false };
  const isKnown = (taskId: string) =>
    services.tasks.find(client.user, taskId) !== undefined;
  const honored = {
    ...listsOf(filter),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
    ...(taskIds.length > 0 && { taskIds: taskIds.filter(isKnown) }),
  };
  const messages = new MessageStream(options);
  const response = messages.connect();
  const stream = new SubscriptionStream(id, honored, messages);
  const end = () => {
    open.news?.close();
    stream.end();
    onEnd();
  };
  if (Object.keys(honored).length === 0) {
    end();
    return { response, isOver: true, end };
  }
  open.news = new ServerNews({
    services,
    user: client.user,
    resourceUris: (server) => places.get(server) ?? [],
    taskIds: new Set(taskIds),
    connect: (server) => services.common.open(server, client),
    notify: (method, params) => {
      if (isWanted(filter, method, params)) stream.notify(method, params);
    },
    ask: rejectQuestion,
    closesConnections: true,
  });
  await inTime(clock, OPEN_MS, open.news.opened);
  stream.confirm();
  return { response, isOver: false, end };
}

/** The messages of a subscription, the first of which confirms it. */
class SubscriptionStream {
  readonly #id: JsonRpcId;
  readonly #stream: MessageStream;
  /** Notifications that have come before the confirmation. */
  #early: (readonly [method: string, params: JsonObject])[] | undefined = [];
  readonly #honored: JsonObject;

  /** @param honored Part of the filter that is honored. */
  constructor(id: JsonRpcId, honored: JsonObject, stream: MessageStream) {
    this.#id = id;
    this.#honored = honored;
    this.#stream = stream;
  }

  /** Confirms it, unless it has been confirmed. */
  confirm(): void {
    const early = this.#early;
    if (early === undefined) return;
    this.#early = undefined;
    const method = "notifications/subscriptions/acknowledged";
    this.notify(method, { notifications: this.#honored });
    for (const each of early) this.notify(...each);
  }

  notify(method: string, params: JsonObject): void {
    if (this.#early === undefined) {
      this.#stream.send(writeNotification(method, this.#stamped(params)));
      return;
    }
    this.#early.push([method, params]);
    if (this.#early.length > MAX_EARLY) this.confirm();
  }

  /** Ends it with a result. */
  end(): void {
    this.confirm();
    const result = resultForEra("modern", "subscriptions/listen", {});
    this.#stream.send(writeResult(this.#id, this.#stamped(result)));
    this.#stream.end();
  }

  #stamped(params: JsonObject): JsonObject {
    const _meta = { ...metaOf(params), [META.SUBSCRIPTION]: this.#id };
    return { ...params, _meta };
  }
}

/** Returns the members of the filter that request notifications of lists. */
function listsOf(filter: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.values(lists).filter((member) => filter[member] === true)
      .map((member) => [member, true]),
  );
}

function isWanted(
  filter: JsonObject,
  method: string,
  { uri, taskId }: JsonObject,
): boolean {
  switch (method) {
    case "notifications/resources/updated":
      return listAt(filter, "resourceSubscriptions").includes(uri);
    case "notifications/tasks":
      return listAt(filter, "taskIds").includes(taskId);
    default: {
      const member = new Map<string, string>(Object.entries(lists)).get(method);
      return member !== undefined && filter[member] === true;
    }
  }
}

function rejectQuestion(): never {
  const message = "Clients of 2026-07-28 are asked during requests only";
  throw new RpcFailure(RPC.METHOD_NOT_FOUND, message);
}

/** @throws {RpcFailure} For a member that is no list of strings. */
function readTexts(filter: JsonObject, member: string): readonly string[] {
  const { [member]: value = [] } = filter;
  const isText = (item: unknown) => typeof item === "string";
  if (
    Array.isArray(value) && value.length <= MAX_OBSERVED && value.every(isText)
  ) return value;
  const message = `Invalid params: "${member}" is no list of strings`;
  throw new RpcFailure(RPC.INVALID_PARAMS, message);
}

function readTasks(filter: JsonObject, client: Client): readonly string[] {
  const taskIds = readTexts(filter, "taskIds");
  if (taskIds.length === 0 || takesTasks(client.capabilities)) return taskIds;
  throw new RpcFailure(
    RPC.MISSING_CAPABILITY,
    "Missing required client capability",
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  );
}

async function findResources(
  uris: readonly string[],
  client: Client,
  { methods }: EndpointServices,
): Promise<ReadonlyMap<McpServer, readonly string[]>> {
  const places = new Map<McpServer, string[]>();
  for (const uri of uris) {
    const { server, key } = await methods.findResource(client, uri);
    places.getOrInsertComputed(server, () => []).push(key);
  }
  return places;
}
