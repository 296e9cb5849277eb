import { toOpenMetrics } from "../../../src/telemetry/metrics/open_metrics.ts";
import { respond, text } from "../../http/admin_responses.ts";
import { get } from "../../http/declare_endpoint.ts";
import { TEXT_TYPE } from "../../http/operation_text.ts";
import type { Endpoint } from "../../http/router.ts";
import type { AdminTarget } from "../../target/target.ts";

const PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS =
  "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** Lists the endpoints for monitoring. */
export function statsEndpoints(
  target: AdminTarget,
): readonly Endpoint[] {
  const collectMetrics = async (request: Request) =>
    request.headers.get("accept")?.includes("application/openmetrics-text")
      ? respond(
        200,
        OPEN_METRICS,
        toOpenMetrics(await target.dataPlane.call("readMetrics")),
      )
      : respond(
        200,
        PROMETHEUS_TEXT,
        await target.dataPlane.call("collectMetrics"),
      );
  const metrics = {
    summary: "Prometheus metrics",
    ok: "Metrics in the text format, version 0.0.4",
    type: TEXT_TYPE,
  };
  return [
    get("/metrics", collectMetrics, metrics),
    get("/stats/prometheus", collectMetrics, metrics),
    get("/healthz/ready", () => showReadiness(target), {
      summary: "Readiness: whether to send traffic here",
      ok: "Ready",
      type: TEXT_TYPE,
      others: { 503: "Starting, stuck or stopping" },
    }),
    get("/healthz/live", () => text(200, "ok"), {
      summary: "Liveness of the process",
      ok: "Alive",
      type: TEXT_TYPE,
    }),
  ];
}

/** A gateway is ready while the API server or the store of the keys is away: it serves what it read last. */
function showReadiness(target: AdminTarget): Response {
  const readiness = target.readiness();
  const problem = target.problem();
  return text(
    readiness === "ready" ? 200 : 503,
    problem === undefined ? readiness : `${readiness}\n${problem}`,
  );
}
