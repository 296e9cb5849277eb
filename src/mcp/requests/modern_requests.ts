import type { Cancellation } from "../../base/cancellation.ts";
import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import type { ResponseMessage } from "../../http/message.ts";
import {
  RPC,
  RpcFailure,
  writeError,
  writeResult,
} from "../protocol/rpc_messages.ts";
import {
  META,
  metaOf,
  modernRevisions,
  supportedRevisions,
} from "../protocol/revisions.ts";
import type { RequestSide } from "../servers/server_connection.ts";
import { Answer, jsonResponse } from "../streams/rpc_answer.ts";
import { passedCapabilities } from "../clients/client.ts";
import { describeServers } from "../clients/described_servers.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import { MessageStream } from "../streams/message_stream.ts";
import {
  ModernCall,
  type ModernRequest,
  statusOfFailure,
} from "./modern_call.ts";
import { ModernClient } from "./modern_client.ts";
import { digestOf, ParkedCalls } from "./parked_calls.ts";
import { resultForEra } from "../clients/revision_results.ts";
import { type OpenSubscription, openSubscription } from "./subscription.ts";

const MAX_SUBSCRIPTIONS = 1024;

/** A request as it arrived. */
export interface ModernArrival
  extends ModernRequest, Pick<RequestSide, "owners" | "sees" | "begun"> {
  readonly user: string;
  readonly acceptsEvents: boolean;
  readonly cancellation: Cancellation;
}

/** Requests of clients of the modern era: each stands for itself. */
export class ModernRequests {
  readonly #services: EndpointServices;
  readonly #parked: ParkedCalls;
  readonly #subscriptions = new Set<OpenSubscription | undefined>();

  constructor(services: EndpointServices) {
    this.#services = services;
    this.#parked = new ParkedCalls(services);
  }

  /** Number of calls that wait for their clients. */
  get parked(): number {
    return this.#parked.size;
  }

  /** Returns the worker that has to handle a request; `undefined` if any can. */
  workerOf({ method, params, user }: ModernArrival): number | undefined {
    const { requestState } = params;
    if (typeof requestState !== "string") return undefined;
    try {
      const digest = digestOf(method, params);
      const state = this.#parked.open(requestState, user, digest);
      return "worker" in state ? state.worker : undefined;
    } catch {
      // Any worker can reject it.
      return undefined;
    }
  }

  /** Handles a request. */
  async handle(arrival: ModernArrival): Promise<ResponseMessage> {
    const { id, method } = arrival;
    try {
      switch (method) {
        case "server/discover":
          return jsonResponse(writeResult(id, await this.#discover(arrival)));
        case "subscriptions/listen":
          return await this.#listen(arrival);
        case "resources/subscribe":
        case "resources/unsubscribe":
          throw new RpcFailure(RPC.METHOD_NOT_FOUND, "Method not found");
        default:
          return await this.#call(arrival);
      }
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      return jsonResponse(writeError(id, error), statusOfFailure(error.code));
    }
  }

  /** Ends calls that wait, and subscriptions. */
  close(): void {
    this.#parked.close();
    for (const subscription of this.#subscriptions) subscription?.end();
    this.#subscriptions.clear();
  }

  async #discover(arrival: ModernArrival): Promise<JsonObject> {
    const client = this.clientOf(arrival);
    const about = await describeServers(this.#services.servers, client);
    return resultForEra("modern", "server/discover", {
      supportedVersions: supportedRevisions,
      ...about,
    });
  }

  async #call(arrival: ModernArrival): Promise<ResponseMessage> {
    const { id, method, params, user, owners, sees, begun, cancellation } =
      arrival;
    const { requestState, inputResponses } = params;
    const digest = () => digestOf(method, params);
    const state = requestState === undefined ? undefined : this.#parked.open(
      stringMember(params, "requestState") ?? "",
      user,
      digest(),
    );
    const parked = state !== undefined && "parked" in state
      ? this.#parked.take(state.parked)
      : undefined;
    const own = state !== undefined && "state" in state
      ? { ...params, requestState: state.state }
      : params;
    const call = parked ?? new ModernCall({
      services: this.#services,
      owners,
      sees,
      begun,
      user,
      request: { id, method, params: own },
      park: (waiting) => this.#parked.park(waiting, user, digest()),
      sealState: (text) => this.#parked.sealState(text, user, digest()),
    });
    const answer = this.#answerTo(arrival, call);
    // Closing the stream cancels the request.
    const unsubscribe = cancellation.onCancel(() => call.cancel());
    if (parked === undefined) void call.run(answer);
    else parked.resume(id, inputResponses, answer);
    return await answer.response.finally(unsubscribe);
  }

  #answerTo({ acceptsEvents }: ModernArrival, call: ModernCall): Answer {
    const { clock } = this.#services;
    const stream = acceptsEvents
      ? new MessageStream({
        clock,
        name: undefined,
        primes: false,
        onLeave: () => call.cancel(),
      })
      : undefined;
    return new Answer(clock, stream);
  }

  async #listen(arrival: ModernArrival): Promise<ResponseMessage> {
    const { id, params: { notifications } } = arrival;
    if (!isJsonObject(notifications)) {
      const message = 'Invalid params: "notifications" is required';
      throw new RpcFailure(RPC.INVALID_PARAMS, message);
    }
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) {
      throw new RpcFailure(RPC.INTERNAL_ERROR, "Too many subscriptions");
    }
    const ended = () => void this.#subscriptions.delete(holder.opened);
    const holder: { opened: OpenSubscription | undefined } = {
      opened: undefined,
    };
    const opened = await openSubscription(
      id,
      notifications,
      this.clientOf(arrival),
      this.#services,
      ended,
    );
    holder.opened = opened;
    if (!opened.isOver) this.#subscriptions.add(opened);
    return opened.response;
  }

  /** Returns the client that has sent a request. */
  clientOf(
    { user, params, cancellation }: Pick<
      ModernArrival,
      "user" | "params" | "cancellation"
    >,
  ): ModernClient {
    const capabilities = metaOf(params)[META.CLIENT_CAPABILITIES];
    return new ModernClient(this.#services, {
      user,
      capabilities: passedCapabilities(capabilities, "modern"),
      logLevel: undefined,
      cancellation,
    });
  }
}

/** Reports whether a request says that it is of the modern era. */
export function isModern(
  params: JsonObject,
  revisionHeader: string | undefined,
): boolean {
  return metaOf(params)[META.VERSION] !== undefined ||
    modernRevisions.has(revisionHeader ?? "");
}
