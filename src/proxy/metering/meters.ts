import { usageListeners } from "../../policy/contract/request_listeners.ts";
import { requestWhole } from "../llm/llm_headers.ts";
import { meterOfStored } from "./batch/stored_meter.ts";
import { meterOfTokens } from "./meter/token_meter.ts";
import {
  type MeteredRequest,
  type MeterKind,
  type MeterOptions,
  modelNamesOf,
  priceHostOf,
  type UsageMeter,
} from "./meter/usage_meter.ts";
import { meterOfRealtime, meterOfSocket } from "./realtime/socket_meter.ts";

/** The kinds of meters; the first that takes a request counts it. Servers may ignore the offer of a protocol, and respond. */
const kinds: readonly MeterKind[] = [
  meterOfRealtime,
  meterOfStored,
  meterOfTokens,
  meterOfSocket,
];

/** Dependencies of all meters. */
export type MeterServices = Pick<MeterOptions, "prices" | "clock" | "counted">;

/**
 * Creates the meter of a request to an LLM, also when no policy needs its usage; `undefined` for other requests.
 * @param onUsed Receives the parts of what a request uses that stays open.
 * @throws {GatewayError} `usage_unknown`
 */
export function createMeter(
  metered: MeteredRequest,
  { prices, clock, counted }: MeterServices,
  onUsed: MeterOptions["onUsed"],
): UsageMeter | undefined {
  const budgets = metered.slots?.get(usageListeners);
  const { backend } = metered.routed;
  const { host, port } = backend ?? {};
  const priceHost = backend && priceHostOf(backend);
  const options: MeterOptions = {
    ...{ prices, clock, counted, host, port, priceHost, onUsed },
    modelAt: modelNamesOf(backend),
  };
  if (budgets !== undefined) requestWhole(metered.request);
  for (const kind of kinds) {
    const meter = kind(metered, options, budgets);
    if (meter !== undefined) return meter === "uncounted" ? undefined : meter;
  }
  return undefined;
}
