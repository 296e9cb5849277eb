import { GatewayError } from "../../../base/errors.ts";
import type { RequestMessage, ResponseMessage } from "../../../http/message.ts";
import { detectLlmApi, readPathModel } from "../../../llm/llm_api.ts";
import { RealtimeUsage } from "../../../llm/realtime/realtime_usage.ts";
import {
  closeFrame,
  WebSocketMessages,
} from "../../../llm/realtime/websocket_messages.ts";
import { USUAL_OUTPUT_TOKENS } from "../../../llm/request/output_bound.ts";
import { addUsage, type TokenUsage } from "../../../llm/usage/token_usage.ts";
import { llmRequest } from "../../../policy/expressions/expression_slots.ts";
import type { UsageListeners } from "../../../policy/contract/request_listeners.ts";
import {
  type MeteredRequest,
  type MeterOptions,
  priceUsage,
  RequestCounts,
  UnknownUsage,
  type UsageMeter,
} from "../meter/usage_meter.ts";
import { MeteredTunnel, type TunnelReader } from "./metered_tunnel.ts";

const EXTENSIONS = "sec-websocket-extensions";
/** RFC 6455 section 7.4.1. */
const POLICY_VIOLATION = 1008;
const nothing = new Uint8Array();

/** Meters requests that open a WebSocket of OpenAI. */
export function meterOfRealtime(
  metered: MeteredRequest,
  options: MeterOptions,
  budgets: UsageListeners | undefined,
): UsageMeter | undefined {
  const { originalRequest, request: { method, target, upgrade } } = metered;
  if (upgrade === undefined) return undefined;
  const isRealtime = /^websocket$/i.test(upgrade) &&
    [originalRequest.target, target].some((path) =>
      detectLlmApi(method, path) === "realtime"
    );
  if (isRealtime) {
    return new SocketMeter(options, budgets, dependsOnModel(metered));
  }
  if (budgets?.rules.deniesUnknown !== true) return undefined;
  throw new UnknownUsage("it opens a WebSocket to a path of no known LLM API");
}

/** Returns whether the route, a rule or the backend was chosen by the model, or may depend on it. */
function dependsOnModel({ routed, slots }: MeteredRequest): boolean {
  return routed.backend?.llm !== undefined || routed.model !== undefined ||
    slots?.get(llmRequest)?.requestModel !== undefined;
}

/** Reports WebSockets on a route with a budget whose tokens nobody counts. */
export function meterOfSocket(
  { request }: MeteredRequest,
  _: MeterOptions,
  budgets: UsageListeners | undefined,
): UsageMeter | undefined {
  const isMeant = request.upgrade !== undefined && budgets !== undefined;
  return isMeant ? new UncountedSocket() : undefined;
}

/** Counts the tokens of the responses on a WebSocket of OpenAI while it is open, and closes it once a budget is used up. */
class SocketMeter implements UsageMeter, TunnelReader {
  readonly api = "realtime";
  readonly countsParts = true;
  readonly cancellation: undefined;
  readonly counts = new RequestCounts();
  readonly #options: MeterOptions;
  readonly #budgets: UsageListeners | undefined;
  /** Rules or a backend depend on the model, so that the session has to keep it. */
  readonly #keepsModel: boolean;
  #reader = new RealtimeUsage(undefined);
  #messages = new WebSocketMessages(this.#reader);
  #model: string | undefined;

  /** @param budgets `undefined` if no policy needs the usage. */
  constructor(
    options: MeterOptions,
    budgets: UsageListeners | undefined,
    keepsModel: boolean,
  ) {
    this.#options = options;
    this.#budgets = budgets;
    this.#keepsModel = keepsModel;
  }

  /** Messages that cannot be read are not passed on. */
  get #mustRead(): boolean {
    return this.#budgets !== undefined || this.#keepsModel;
  }

  get wantsRest(): boolean {
    return this.#budgets?.rules.drains === true && this.#reader.isResponding;
  }

  /** Keeps backends from compressing what has to be read. */
  async prepare({ target, headers }: RequestMessage): Promise<void> {
    this.#model = readPathModel(target);
    const { prices } = this.#options;
    if (!prices.isLoaded) await prices.load();
    if (this.#mustRead) headers.delete(EXTENSIONS);
  }

  /** @throws {GatewayError} If the backend compresses messages, although it was not offered. */
  watch(response: ResponseMessage): void {
    const { tunnel, headers } = response;
    if (tunnel === undefined) return;
    if (headers.has(EXTENSIONS)) {
      if (!this.#mustRead) return;
      tunnel.transport.close();
      throw new GatewayError(
        "upstream_protocol_error",
        "upstream",
        "Cannot read messages: the backend uses an extension of WebSockets that was not offered",
      );
    }
    this.#reader = new RealtimeUsage(this.#model);
    this.#messages = new WebSocketMessages(this.#reader);
    const transport = new MeteredTunnel(tunnel, this, {
      clock: this.#options.clock,
      draining: (done) => this.counts.counting = done,
    });
    response.tunnel = { transport, early: nothing };
  }

  /** Does nothing: no response has begun. */
  abandon(): void {}

  push(bytes: Uint8Array, from: number): number {
    return this.#messages.push(bytes, from);
  }

  verdict(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#keepsModel && this.#reader.hasChangedModel) {
      this.counts.closedBy = "authorization";
      return closeFrame(POLICY_VIOLATION, "the session changed its model");
    }
    const usage = this.#reader.take();
    if (usage !== undefined) return this.#charge(usage);
    if (!this.#messages.isBroken || !this.#mustRead) return undefined;
    // No client accepts such bytes either.
    if (this.#budgets !== undefined) {
      this.counts.uncounted = { model: this.#model };
    }
    return nothing;
  }

  end(): void {
    const usage = this.#reader.finish();
    if (usage === undefined) return;
    const used = this.#add(usage);
    for (const listener of this.#budgets?.listeners ?? []) {
      void listener.charge(used, undefined);
    }
  }

  async #charge(usage: TokenUsage): Promise<Uint8Array | undefined> {
    const used = this.#add(usage);
    const listeners = this.#budgets?.listeners ?? [];
    const expected = this.#reader.expect(USUAL_OUTPUT_TOKENS);
    const next = expected && priceUsage(this.#options, expected);
    const verdicts = await Promise.all(
      listeners.map((listener) => listener.charge(used, next)),
    );
    if (!verdicts.includes(true)) return undefined;
    this.counts.closedBy = "rate_limit";
    return closeFrame(POLICY_VIOLATION, "rate limit exceeded");
  }

  #add(usage: TokenUsage): TokenUsage {
    const used = priceUsage(this.#options, usage);
    this.counts.usage = addUsage(this.counts.usage, used);
    this.#options.onUsed(used);
    return used;
  }
}

class UncountedSocket implements UsageMeter {
  readonly api: undefined;
  readonly cancellation: undefined;
  readonly countsParts = false;
  readonly counts = new RequestCounts();
  #model: string | undefined;

  prepare({ target }: RequestMessage): undefined {
    this.#model = readPathModel(target);
  }

  watch({ tunnel }: ResponseMessage): void {
    if (tunnel !== undefined) this.counts.uncounted = { model: this.#model };
  }

  /** Does nothing: nothing is charged. */
  abandon(): void {}
}
