import { BoundedJson } from "../../base/json/bounded_json.ts";
import { eventsOf, readEventData } from "../../base/wire/event_stream.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { UsageTracker } from "../../llm/usage/usage_tracker.ts";
import { isWithheld } from "../../llm/withheld_answer.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import type { Exchange } from "../exchange/exchange.ts";

/** Longer answers are not withheld ones. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_VALUES = 10_000;

/**
 * Records in the attempts of an exchange that a provider withholds the answer. A stream is judged by its first events.
 * @param first The first bytes of a stream.
 */
export async function watchFilter(
  { attempts, meter, request: { held } }: Exchange,
  response: ResponseMessage,
  first: Uint8Array | undefined,
): Promise<void> {
  if (attempts === undefined || response.status !== 200) return;
  const json = new BoundedJson(MAX_VALUES);
  if (first !== undefined) {
    attempts.isFiltered = [...eventsOf(first)].some((event) =>
      isWithheld(json.parse(readEventData(event)))
    );
    return;
  }
  const type = response.headers.get("content-type") ?? "";
  const isRead = /^application\/json\b/i.test(type) &&
    !response.headers.has("content-encoding");
  if (!isRead) return;
  const holder = { body: response.body, held };
  const bytes = await peekBody(holder, MAX_ANSWER_BYTES);
  response.body = holder.body;
  if (bytes === undefined) return;
  const answer = json.parse(new TextDecoder().decode(bytes));
  if (!isWithheld(answer)) return;
  attempts.isFiltered = true;
  const usage = new UsageTracker(meter?.api);
  usage.observe(answer);
  attempts.withheldUsage = usage.finish();
}
