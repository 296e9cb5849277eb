import { Cancellation } from "../../base/cancellation.ts";
import type { JsonRpcId } from "../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import {
  RPC,
  RpcFailure,
  writeError,
  writeNotification,
  writeResult,
} from "../protocol/rpc_messages.ts";
import {
  isLogLevel,
  META,
  metaOf,
  passingMeta,
} from "../protocol/revisions.ts";
import type {
  InputRequest,
  InputRequests,
  RequestSide,
} from "../servers/server_connection.ts";
import type { Answer } from "../streams/rpc_answer.ts";
import { neededCapability, passedCapabilities } from "../clients/client.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import { ModernClient } from "./modern_client.ts";
import { failureForEra, resultForEra } from "../clients/revision_results.ts";

/** A request of a client of the modern era. */
export interface ModernRequest {
  readonly id: JsonRpcId;
  readonly method: string;
  readonly params: JsonObject;
}

/** A response: its text, and the status if it has not begun. */
interface Outcome {
  readonly text: (id: JsonRpcId) => string;
  readonly status: number;
}

/** A question of a server that the client has not answered. */
interface Question extends InputRequest {
  resolve(result: JsonObject): void;
  reject(failure: RpcFailure): void;
}

/** Options of a call. */
export interface CallOptions
  extends Pick<RequestSide, "owners" | "sees" | "begun"> {
  readonly services: EndpointServices;
  readonly user: string;
  readonly request: ModernRequest;
  /** Makes the call wait for the client's input; returns the state with which the client comes back. @throws {RpcFailure} */
  park(call: ModernCall): string;
  /** Seals a state of the server. */
  sealState(state: string): string;
}

/** Questions that come at the same time are asked together. */
const GATHER_MS = 5;
const cancelled = new RpcFailure(
  RPC.INTERNAL_ERROR,
  "The request was cancelled",
);

/**
 * A request of a client of the modern era. If a server of the legacy era asks the client during it, the request to the server stays
 * open ("parked") while the client is asked, and goes on when it comes back with its input (MCP 2026-07-28, "Multi round-trip requests").
 */
export class ModernCall {
  readonly cancellation = new Cancellation();
  readonly #options: CallOptions;
  readonly #capabilities: JsonObject;
  readonly #questions = new Map<string, Question>();
  #id: JsonRpcId;
  #answer: Answer | undefined;
  #outcome: Outcome | undefined;
  #asked = 0;
  #stopGathering: (() => void) | undefined;

  constructor(options: CallOptions) {
    this.#options = options;
    this.#id = options.request.id;
    const meta = metaOf(options.request.params);
    this.#capabilities = passedCapabilities(
      meta[META.CLIENT_CAPABILITIES],
      "modern",
    );
  }

  /** Sends the request. */
  async run(answer: Answer): Promise<void> {
    this.#answer = answer;
    const { method, params } = this.#options.request;
    const outcome = await this.#handle(method, params);
    this.#options.begun?.leave();
    this.#stopGathering?.();
    this.#outcome = outcome;
    this.#deliver();
  }

  /** Goes on with what the client has answered. */
  resume(id: JsonRpcId, responses: unknown, answer: Answer): void {
    this.#id = id;
    this.#answer = answer;
    if (this.#outcome !== undefined) return this.#deliver();
    for (const [key, { resolve }] of this.#questions) {
      const response = isJsonObject(responses) ? responses[key] : undefined;
      if (!isJsonObject(response)) continue;
      this.#questions.delete(key);
      resolve(response);
    }
    if (this.#questions.size > 0) this.#park();
  }

  /** Ends the call: the client has gone, or does not come back. */
  cancel(): void {
    this.cancellation.cancel(cancelled);
    for (const { reject } of this.#questions.values()) reject(cancelled);
    this.#answer?.abandon();
  }

  #deliver(): void {
    if (this.#outcome === undefined || this.#answer === undefined) return;
    const { text, status } = this.#outcome;
    this.#answer.finish(text(this.#id), status);
  }

  async #handle(method: string, params: JsonObject): Promise<Outcome> {
    const { services, user, sealState } = this.#options;
    const meta = metaOf(params);
    const level = meta[META.LOG_LEVEL];
    const client = new ModernClient(services, {
      user,
      capabilities: this.#capabilities,
      logLevel: isLogLevel(level) ? level : undefined,
      cancellation: this.cancellation,
    });
    try {
      const { _meta: _, ...own } = params;
      const side = this.#side(params);
      const result = await services.methods.handle(client, method, own, side);
      const { requestState } = result;
      return resultOutcome(method, {
        ...result,
        ...(typeof requestState === "string" &&
          { requestState: sealState(requestState) }),
      });
    } catch (error) {
      if (error instanceof RpcFailure) {
        const urls = urlRequests(error);
        if (urls !== undefined) return resultOutcome(method, urls);
        return failureOutcome(failureForEra("modern", method, error));
      }
      services.log.error("Cannot handle an MCP request", { method, error });
      return failureOutcome(
        new RpcFailure(RPC.INTERNAL_ERROR, "Internal error"),
      );
    }
  }

  #side(params: JsonObject): RequestSide {
    const { progressToken: token, [META.LOG_LEVEL]: level } = metaOf(params);
    return {
      client: this,
      owners: this.#options.owners,
      sees: this.#options.sees,
      begun: this.#options.begun,
      cancellation: this.cancellation,
      progressToken: typeof token === "string" || typeof token === "number"
        ? token
        : undefined,
      logLevel: isLogLevel(level) ? level : undefined,
      meta: passingMeta(params),
      takesInputRequired: true,
      notify: (method, params) =>
        this.#answer?.send(writeNotification(method, params)),
      ask: (requests) => this.#ask(requests),
    };
  }

  async #ask(
    requests: InputRequests,
  ): Promise<Readonly<Record<string, JsonObject>>> {
    const asked = Object.entries(requests).map(async ([key, request]) => {
      const needed = neededCapability(request.method);
      if (needed === undefined || this.#capabilities[needed] === undefined) {
        const message = `The client does not support ${request.method}`;
        throw new RpcFailure(RPC.METHOD_NOT_FOUND, message);
      }
      const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
      this.#questions.set(`input-${++this.#asked}`, {
        ...request,
        resolve,
        reject,
      });
      return [key, await promise] as const;
    });
    this.#stopGathering ??= this.#options.services.clock.setTimer(() => {
      this.#stopGathering = undefined;
      this.#park();
    }, GATHER_MS);
    return Object.fromEntries(await Promise.all(asked));
  }

  /** Asks the client, and ends its request; without a client, it learns of the questions when it comes back. */
  #park(): void {
    const answer = this.#answer;
    if (answer === undefined || this.#questions.size === 0) return;
    try {
      const requestState = this.#options.park(this);
      this.#answer = undefined;
      const inputRequests = Object.fromEntries(
        this.#questions.entries().map(([key, { method, params }]) => {
          const { elicitationId: _, ...own } = params ?? {};
          return [key, {
            method,
            ...(params !== undefined && { params: own }),
          }];
        }),
      );
      const result = resultForEra("modern", this.#options.request.method, {
        resultType: "input_required",
        inputRequests,
        requestState,
      });
      answer.finish(writeResult(this.#id, result));
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      for (const { reject } of this.#questions.values()) reject(error);
      this.#questions.clear();
    }
  }
}

function resultOutcome(method: string, result: JsonObject): Outcome {
  const text = resultForEra("modern", method, result);
  return { text: (id) => writeResult(id, text), status: 200 };
}

function failureOutcome(failure: RpcFailure): Outcome {
  return {
    text: (id) => writeError(id, failure),
    status: statusOfFailure(failure.code),
  };
}

/** Returns the status of an error response (MCP 2026-07-28, "Streamable HTTP"). */
export function statusOfFailure(code: number): number {
  if (code === RPC.METHOD_NOT_FOUND) return 404;
  return code === RPC.MISSING_CAPABILITY ? 400 : 200;
}

/** Asks for the visits that a server, or the gateway, wants. */
function urlRequests({ code, data }: RpcFailure): JsonObject | undefined {
  const elicitations = isJsonObject(data) ? data["elicitations"] : undefined;
  if (code !== RPC.URL_ELICITATION_REQUIRED || !Array.isArray(elicitations)) {
    return undefined;
  }
  const requests = elicitations.filter(isJsonObject).map(
    ({ elicitationId: _, ...params }, index) => [
      `url-${index + 1}`,
      { method: "elicitation/create", params: { ...params, mode: "url" } },
    ],
  );
  return {
    resultType: "input_required",
    inputRequests: Object.fromEntries(requests),
  };
}
