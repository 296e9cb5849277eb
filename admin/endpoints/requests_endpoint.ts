import { json, text } from "../admin_responses.ts";
import {
  type IntegerRange,
  InvalidParameter,
  readChoice,
  readInteger,
  requireKnown,
} from "../query_parameters.ts";
import type { AdminTarget } from "../target.ts";
import { decodeSegment } from "./failures_endpoint.ts";

/** Range of `limit`. */
export const requestLimit: IntegerRange = { from: 0, to: 10_000, or: 100 };

/** Values of `status`. */
export const requestStatuses = [
  "failed",
  "succeeded",
  "1xx",
  "2xx",
  "3xx",
  "4xx",
  "5xx",
] as const;

/**
 * Lists requests that have ended, newest first.
 * @throws {InvalidParameter}
 */
export async function listRequests(
  { dataPlane }: AdminTarget,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  requireKnown(
    query,
    ["status", "route", "model", "key", "text", "since", "limit"],
    "usage: GET /requests?status=failed&route=<route>&limit=100",
  );
  const read = (name: string) => query.get(name) ?? undefined;
  return json(
    await dataPlane.requests({
      status: readChoice(query, "status", requestStatuses),
      route: read("route"),
      model: read("model"),
      key: read("key"),
      text: read("text"),
      since: readTime(query),
      limit: readInteger(query, "limit", requestLimit),
    }),
  );
}

/** Returns everything about one of them; 404 when it was displaced. */
export async function showRequest(
  { dataPlane }: AdminTarget,
  request: Request,
): Promise<Response> {
  const record = decodeSegment(request.url);
  const report = record === undefined
    ? undefined
    : await dataPlane.request(record);
  return report === undefined
    ? text(404, "this request is no longer recorded: newer ones replaced it")
    : json(report);
}

/** Reads milliseconds since the epoch. */
function readTime(query: URLSearchParams): number | undefined {
  const value = query.get("since");
  if (value === null) return undefined;
  if (/^[0-9]{1,15}$/.test(value)) return Number(value);
  throw new InvalidParameter(
    "invalid since: expected milliseconds since the epoch",
  );
}
