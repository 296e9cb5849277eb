import type { RecordedRequest } from "../../../src/telemetry/failures/recorded_request.ts";
import type { FinishedRequest } from "../../../src/telemetry/log/finished_request.ts";
import { finishedRequest } from "./finished_request.ts";

/** A request that a backend answered with 503, unless `fields` say otherwise. */
export function failedRequest(
  id: string,
  fields: Partial<FinishedRequest> = {},
): RecordedRequest {
  return {
    id,
    finished: { ...finishedRequest, status: 503, ...fields },
    scheme: "http",
    query: "",
    requestHeaders: {},
    responseHeaders: {},
    identities: [],
    route: undefined,
    backend: { name: "default/tools", type: "static", protocol: "http" },
    candidates: [],
    verdict: undefined,
    calls: [],
  };
}
