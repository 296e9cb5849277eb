import { GatewayError } from "../../base/errors.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import {
  closeFrame,
  WebSocketMessages,
} from "../../llm/realtime/websocket_messages.ts";
import { readPathModel } from "../../llm/llm_api.ts";
import { RealtimeUsage } from "../../llm/realtime/realtime_usage.ts";
import { USUAL_OUTPUT_TOKENS } from "../../llm/request/output_bound.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import {
  addMeteredUsage,
  type MeteredUsage,
} from "../../llm/usage/metered_usage.ts";
import type { UsageListeners } from "../../policy/contract/request_listeners.ts";
import { MeteredTunnel, type TunnelReader } from "./metered_tunnel.ts";
import type { UsageMeter, UsageMeterOptions } from "./usage_meter.ts";

const EXTENSIONS = "sec-websocket-extensions";
/** RFC 6455 section 7.4.1. */
const POLICY_VIOLATION = 1008;
const nothing = new Uint8Array();

/** Dependencies of the meter of a WebSocket. */
export interface SocketMeterOptions extends UsageMeterOptions {
  /** Rules or a backend depend on the model, so that the session has to keep it. */
  readonly keepsModel: boolean;
  /** Receives what each response used. */
  onUsed(usage: MeteredUsage): void;
}

/** Counts the tokens of the responses on a WebSocket of OpenAI while it is open, and closes it once a budget is used up. */
export class SocketMeter implements UsageMeter, TunnelReader {
  readonly api = "realtime";
  readonly countsParts = true;
  readonly firstOutputAt: undefined;
  readonly cancellation: undefined;
  readonly #options: SocketMeterOptions;
  readonly #budgets: UsageListeners | undefined;
  #reader = new RealtimeUsage(undefined);
  #messages = new WebSocketMessages(this.#reader);
  #model: string | undefined;
  #usage: MeteredUsage | undefined;
  #counting: Promise<void> | undefined;
  #isUncounted = false;
  #closedBy: UsageMeter["closedBy"];

  /** @param budgets `undefined` if no policy needs the usage. */
  constructor(
    options: SocketMeterOptions,
    budgets: UsageListeners | undefined,
  ) {
    this.#options = options;
    this.#budgets = budgets;
  }

  get usage(): MeteredUsage | undefined {
    return this.#usage;
  }

  get uncounted(): { readonly model: string | undefined } | undefined {
    return this.#isUncounted ? { model: this.#model } : undefined;
  }

  get counting(): Promise<void> | undefined {
    return this.#counting;
  }

  get closedBy(): UsageMeter["closedBy"] {
    return this.#closedBy;
  }

  /** Messages that cannot be read are not passed on. */
  get #mustRead(): boolean {
    return this.#budgets !== undefined || this.#options.keepsModel;
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
      draining: (done) => this.#counting = done,
    });
    response.tunnel = { transport, early: nothing };
  }

  /** Does nothing: no response has begun. */
  abandon(): void {}

  push(bytes: Uint8Array, from: number): number {
    return this.#messages.push(bytes, from);
  }

  verdict(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#options.keepsModel && this.#reader.hasChangedModel) {
      this.#closedBy = "authorization";
      return closeFrame(POLICY_VIOLATION, "the session changed its model");
    }
    const usage = this.#reader.take();
    if (usage !== undefined) return this.#charge(usage);
    if (!this.#messages.isBroken || !this.#mustRead) return undefined;
    // No client accepts such bytes either.
    this.#isUncounted = this.#budgets !== undefined;
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
    const next = expected && this.#price(expected);
    const verdicts = await Promise.all(
      listeners.map((listener) => listener.charge(used, next)),
    );
    if (!verdicts.includes(true)) return undefined;
    this.#closedBy = "rate_limit";
    return closeFrame(POLICY_VIOLATION, "rate limit exceeded");
  }

  #add(usage: TokenUsage): MeteredUsage {
    const used = this.#price(usage);
    this.#usage = this.#usage === undefined
      ? used
      : addMeteredUsage(this.#usage, used);
    this.#options.onUsed(used);
    return used;
  }

  #price(usage: TokenUsage): MeteredUsage {
    const { prices, priceHost: host } = this.#options;
    const served = { model: usage.responseModel, host };
    return { ...usage, cost: prices.price(served, usage), served };
  }
}
