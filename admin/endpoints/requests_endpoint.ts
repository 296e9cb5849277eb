import type { RequestReport } from "../../src/telemetry/requests/logged_request.ts";
import { json, text } from "../http/admin_responses.ts";
import {
  type IntegerRange,
  InvalidParameter,
  lastSegment,
  readChoice,
  readInteger,
  requireKnown,
} from "../http/query_parameters.ts";
import type { AdminTarget } from "../target/target.ts";

/** Range of `limit`. */
export const requestLimit: IntegerRange = { from: 0, to: 10_000, or: 100 };

/** Range of `limit` for failures. */
export const failureLimit: IntegerRange = { from: 0, to: 99_999, or: 10_000 };

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
 * Lists requests that have ended, newest first, and since when they are recorded.
 * @throws {InvalidParameter}
 */
export async function listRequests(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  requireKnown(
    query,
    [
      "status",
      "route",
      "model",
      "key",
      "mcpServer",
      "mcpTool",
      "text",
      "since",
      "limit",
    ],
    "usage: GET /requests?status=failed&route=<route>&limit=100",
  );
  const read = (name: string) => query.get(name) ?? undefined;
  return json({
    ...await target.dataPlane.call("requests", {
      status: readChoice(query, "status", requestStatuses),
      route: read("route"),
      model: read("model"),
      key: read("key"),
      mcpServer: read("mcpServer"),
      mcpTool: read("mcpTool"),
      text: read("text"),
      since: readTime(query),
      limit: readInteger(query, "limit", requestLimit),
    }),
    recordedSince: target.status().startedAt,
  });
}

/** Returns everything about one of them, named by `record` or `x-request-id`; 404 when it was displaced. */
export async function showRequest(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  return await findReport(target, request) ??
    text(
      404,
      `this request is no longer recorded: newer ones replaced it, or the gateway has restarted since, at ${target.status().startedAt}`,
    );
}

/**
 * Lists the failed requests of the same log, at most `limit`.
 * @throws {InvalidParameter}
 */
export async function listFailures(
  { dataPlane }: AdminTarget,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  const limit = readInteger(query, "limit", failureLimit);
  const { requests } = await dataPlane.call("requests", {
    status: "failed",
    limit,
  });
  return json(requests);
}

/** Returns the report on a failed request, as `showRequest` does; 404 when there is none. */
export async function showFailure(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  const report = await findReport(
    target,
    request,
    ({ hasFailed }) => hasFailed,
  );
  if (report !== undefined) return report;
  const { enabled, size } = target.settings.failureMemory;
  return text(
    404,
    enabled
      ? `no failed request with this id: the gateway keeps the last ${size} requests that ended with 4xx or 5xx in memory, since it started at ${target.status().startedAt}`
      : "failed requests are not recorded: config.failureMemory.enabled is false",
  );
}

async function findReport(
  { dataPlane }: AdminTarget,
  { url }: Request,
  isWanted: (report: RequestReport) => boolean = () => true,
): Promise<Response | undefined> {
  const id = lastSegment(url);
  const report = id === undefined
    ? undefined
    : await dataPlane.call("request", id);
  return report !== undefined && isWanted(report) ? json(report) : undefined;
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
