import { type IntegerRange, readInteger } from "../query_parameters.ts";
import { json, text } from "../admin_responses.ts";
import type { AdminTarget } from "../target.ts";

/** Range of `limit`. */
export const failureLimit: IntegerRange = { from: 0, to: 99_999, or: 10_000 };

/**
 * Lists recent failed requests, newest first, at most `limit`.
 * @throws {InvalidParameter}
 */
export async function listFailures(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  const limit = readInteger(query, "limit", failureLimit);
  const failures = await target.dataPlane.failures();
  return json(failures.slice(0, limit));
}

/** Returns the report on a failed request; 404 when there is none. */
export async function showFailure(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  const id = decodeSegment(request.url);
  const report = id === undefined
    ? undefined
    : await target.dataPlane.failure(id);
  if (report !== undefined) return json(report);
  const { enabled, size } = target.settings.failureMemory;
  return text(
    404,
    enabled
      ? `no failed request with this id: the gateway keeps the last ${size} requests that ended with 4xx or 5xx`
      : "failed requests are not recorded: config.failureMemory.enabled is false",
  );
}

/** Returns the last segment of the path of a URL; `undefined` if it is not valid. */
export function decodeSegment(url: string): string | undefined {
  try {
    return decodeURIComponent(new URL(url).pathname.split("/").at(-1) ?? "");
  } catch {
    return undefined;
  }
}
