import type { Clock } from "../../../base/clock.ts";
import { toGatewayError } from "../../request/respond.ts";
import type { Body } from "../../../http/body.ts";
import type { HeaderList } from "../../../http/header_list.ts";
import type { RequestMessage, ResponseMessage } from "../../../http/message.ts";
import { pathOf } from "../../../route/normalize_target.ts";
import type { Backend } from "../../../snapshot/backend.ts";
import {
  formatParent,
  type ParentContext,
  parseParent,
  randomId,
  randomTraceId,
} from "../../../telemetry/spans/trace_context.ts";
import { RestampedBody } from "./restamped_body.ts";
import type { RpcMessage } from "./rpc_message.ts";

/** An attempt to send the request to a backend; times are monotonic, in milliseconds. */
export interface AttemptSpan {
  readonly spanId: string;
  readonly backend: Backend;
  /** Address of the endpoint. */
  readonly endpoint: string;
  readonly path: string;
  readonly startedAt: number;
  /** When the head of the response arrived, or the attempt failed. */
  endedAt?: number;
  status?: number;
  error?: { readonly code: string; readonly message: string };
}

/** A policy that had to wait, such as for keys or for a limit service. */
export interface PolicySpan {
  readonly policy: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly error: string | undefined;
}

/** Facts in a request to an LLM. */
export interface LlmFacts {
  readonly model: string | undefined;
  readonly isStreamed: boolean;
}

/** Decides for a request whether its spans are exported. */
export type Decide = (parent: ParentContext | undefined) => boolean;

const MAX_ATTEMPTS = 64;
const MAX_POLICIES = 64;

/** Place of a request in a trace, and what its spans show besides the record of the request. */
export class RequestSpan {
  readonly spanId = randomId();
  #parent: ParentContext | undefined;
  #link: ParentContext | undefined;
  #traceId: string;
  #isSampled: boolean;
  readonly #clock: Clock;
  readonly #decide: Decide;
  readonly attempts: AttemptSpan[] = [];
  readonly policies: PolicySpan[] = [];
  /** Set for a message of MCP. */
  rpc: RpcMessage | undefined;
  /** Set for a request to an LLM. */
  llm: LlmFacts | undefined;

  constructor(headers: HeaderList, clock: Clock, decide: Decide) {
    this.#clock = clock;
    this.#decide = decide;
    this.#parent = readParent(headers);
    this.#traceId = this.#parent?.traceId ?? randomTraceId();
    this.#isSampled = decide(this.#parent);
  }

  get traceId(): string {
    return this.#traceId;
  }

  /** The span of another process that has caused the request. */
  get parent(): ParentContext | undefined {
    return this.#parent;
  }

  /** The span in the header fields, if a message of MCP names another. */
  get link(): ParentContext | undefined {
    return this.#link;
  }

  get isSampled(): boolean {
    return this.#isSampled;
  }

  /** Continues the trace that a message of MCP names, also where the header fields of the request name another. */
  continueTrace(parent: ParentContext): void {
    if (parent.spanId === this.#parent?.spanId) return;
    this.#link = this.#parent;
    this.#parent = parent;
    this.#traceId = parent.traceId;
    this.#isSampled = this.#decide(parent);
  }

  /** Makes this span, or one of its attempts, the parent of the spans of an upstream; returns the `traceparent`. */
  inject(headers: HeaderList, spanId = this.spanId): string {
    const traceparent = formatParent({
      traceId: this.#traceId,
      spanId,
      isSampled: this.#isSampled,
    });
    headers.set("traceparent", traceparent);
    const state = this.#parent?.state ?? "";
    if (state === "") headers.delete("tracestate");
    else headers.set("tracestate", state);
    return traceparent;
  }

  /** Returns the body for an attempt: a message of MCP that names its parent names the attempt instead. */
  stamp(body: Body | undefined, traceparent: string): Body | undefined {
    const { at, text } = this.rpc?.traceparent ?? {};
    return body === undefined || at === undefined || text === undefined
      ? body
      : new RestampedBody(body, { at, from: text, to: traceparent });
  }

  /** Sends one attempt as the parent of the upstream's spans, and records it. */
  async attempt(
    { headers, target }: Pick<RequestMessage, "headers" | "target">,
    backend: Backend,
    endpoint: string,
    send: (traceparent: string) => Promise<ResponseMessage>,
  ): Promise<ResponseMessage> {
    if (!this.#isSampled || this.attempts.length === MAX_ATTEMPTS) {
      return send(this.inject(headers));
    }
    const attempt: AttemptSpan = {
      spanId: randomId(),
      backend,
      endpoint,
      path: pathOf(target),
      startedAt: this.#clock.monotonic(),
    };
    this.attempts.push(attempt);
    const traceparent = this.inject(headers, attempt.spanId);
    try {
      const response = await send(traceparent);
      attempt.status = response.status;
      return response;
    } catch (error) {
      const { code, message } = toGatewayError(error);
      attempt.error = { code, message };
      throw error;
    } finally {
      attempt.endedAt = this.#clock.monotonic();
    }
  }

  /** Records how long a policy waits; settles as `pending` does. */
  async policyWaits<T>(policy: string, pending: Promise<T>): Promise<T> {
    const startedAt = this.#clock.monotonic();
    const record = (error: string | undefined) => {
      if (this.policies.length === MAX_POLICIES) return;
      const endedAt = this.#clock.monotonic();
      this.policies.push({ policy, startedAt, endedAt, error });
    };
    try {
      const value = await pending;
      record(undefined);
      return value;
    } catch (error) {
      record(toGatewayError(error).message);
      throw error;
    }
  }
}

/** Reads the parent of a request; several `traceparent` fields are invalid. */
function readParent(headers: HeaderList): ParentContext | undefined {
  const traceparent = headers.get("traceparent");
  if (traceparent === undefined || headers.count("traceparent") > 1) {
    return undefined;
  }
  return parseParent(traceparent, headers.getJoined("tracestate"));
}
