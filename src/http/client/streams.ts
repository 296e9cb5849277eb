import type { HeaderList } from "../header_list.ts";
import type { UpstreamRequest } from "./upstream.ts";

const EVENTS = "text/event-stream";
const GRPC = "application/grpc";

/** Reports whether a response is a stream whose messages may be far apart. */
export function isStream(headers: HeaderList): boolean {
  const type = headers.get("content-type")?.toLowerCase();
  return type !== undefined &&
    (type.startsWith(EVENTS) || type.startsWith(GRPC));
}

/** Reports whether the response to a request may begin with its first message, however late that is. */
export function wantsStream({ method, headers, upgrade }: UpstreamRequest) {
  return upgrade !== undefined ||
    method === "GET" && headers.get("accept")?.includes(EVENTS) === true ||
    headers.get("content-type")?.startsWith(GRPC) === true;
}
