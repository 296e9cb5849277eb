import { ClientResponses } from "../../llm/responses/client_responses.ts";
import { noStoredResponses } from "../../llm/responses/stored_responses.ts";
import type { Cancellation } from "../../base/cancellation.ts";
import { GatewayError } from "../../base/errors.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import { detectLlmApi } from "../../llm/llm_api.ts";
import type { LlmTarget } from "../../llm/llm_target.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type { CopiedRequest } from "../../telemetry/traffic/traffic_bucket.ts";
import type { AttemptTarget } from "../balancing/attempt_target.ts";
import { TokenMeter } from "../metering/meter/token_meter.ts";
import {
  type MeterOptions,
  modelNamesOf,
  priceHostOf,
} from "../metering/meter/usage_meter.ts";
import { Attempts } from "../request/attempts.ts";
import { toGatewayError } from "../request/respond.ts";
import type { LlmCall } from "./llm_call.ts";
import { sendToProvider } from "./llm_sender.ts";

/** The response of a provider to the copy of a request. */
export type MirroredAnswer = Omit<CopiedRequest, "time" | "route">;

/** Dependencies of copies for LLM providers. */
export interface LlmMirrorOptions
  extends Pick<MeterOptions, "prices" | "clock" | "counted"> {
  readonly media: LlmCall["media"];
  /** Longer bodies are not read. */
  readonly maxBufferBytes: number;
}

/** The copy of a request, and where it goes. */
export interface LlmCopy {
  readonly request: RequestMessage;
  readonly requestId: string;
  readonly backend: Backend;
  readonly llm: LlmTarget;
  readonly upstream: Pick<AttemptTarget, "send">;
  readonly cancellation: Cancellation;
}

/** Longer responses are cut. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** Reports whether a request is one that LLM providers get copies of: inference. */
export function isMirroredToLlm(
  { method, target, upgrade }: RequestMessage,
): boolean {
  return upgrade === undefined && method === "POST" &&
    detectLlmApi(method, target) !== undefined;
}

/** Sends the copy of a request to an LLM provider, reads the response to its end, and returns what it shows. No budget is charged. */
export async function sendLlmCopy(
  copy: LlmCopy,
  options: LlmMirrorOptions,
): Promise<MirroredAnswer> {
  const { clock } = options;
  const { backend: { name: backend } } = copy;
  const startedAt = clock.monotonic();
  let usage: TokenUsage | undefined;
  const meter = createMeter(copy, options, (used) => usage = used);
  try {
    const response = await send(copy, meter, options);
    const latencyMs = clock.monotonic() - startedAt;
    meter.watch(response);
    await drain(response);
    const { firstOutputAt, counting } = meter.counts;
    if (counting !== undefined) await counting;
    return {
      backend,
      status: String(response.status),
      latencyMs,
      firstTokenMs: firstOutputAt && firstOutputAt - startedAt,
      usage,
    };
  } catch (error) {
    const { code } = toGatewayError(error);
    const latencyMs = clock.monotonic() - startedAt;
    return { backend, status: code, latencyMs, firstTokenMs: undefined, usage };
  }
}

/** Creates a meter that requests the usage of streams, which no client sees. */
function createMeter(
  { request: { method, target }, backend }: LlmCopy,
  { prices, clock, counted }: LlmMirrorOptions,
  onUsage: (usage: TokenUsage) => void,
): TokenMeter {
  const { host, port } = backend;
  const priceHost = priceHostOf(backend);
  const api = detectLlmApi(method, target);
  return new TokenMeter(api, {
    ...{ prices, clock, counted, host, port, priceHost },
    modelAt: modelNamesOf(backend),
    onUsed: onUsage,
  }, {
    listeners: [{ settle: onUsage, charge: () => false }],
    rules: { mayRequestUsage: true, drains: false, deniesUnknown: false },
  });
}

async function send(
  { request, requestId, llm, upstream, cancellation }: LlmCopy,
  meter: TokenMeter,
  { clock, maxBufferBytes, media }: LlmMirrorOptions,
): Promise<ResponseMessage> {
  await meter.prepare(request, maxBufferBytes);
  return await sendToProvider({
    ...{ target: llm, upstream, request, requestId, clock, maxBufferBytes },
    media,
    body: request.body,
    held: undefined,
    cancellation,
    attempts: new Attempts(clock.monotonic()),
    trace: undefined,
    onRead: () => {},
    responses: new ClientResponses(noStoredResponses, ""),
    models: () => [],
  });
}

async function drain({ body }: ResponseMessage): Promise<void> {
  let bytes = 0;
  for (let chunk = await body?.read(); chunk; chunk = await body?.read()) {
    bytes += chunk.length;
    if (bytes <= MAX_RESPONSE_BYTES) continue;
    body?.cancel("long enough");
    throw new GatewayError(
      "llm_response_invalid",
      "upstream",
      `The response is longer than ${MAX_RESPONSE_BYTES} bytes`,
    );
  }
}
