import { respond, text } from "../admin_responses.ts";
import type { Endpoint } from "../router.ts";
import type { AdminTarget } from "../target.ts";

const PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";

/** Lists the endpoints for monitoring. */
export function statsEndpoints(
  target: AdminTarget,
): readonly Endpoint[] {
  const collectMetrics = async () =>
    respond(200, PROMETHEUS_TEXT, await target.dataPlane.collectMetrics());
  return [
    { path: "/metrics", methods: { GET: collectMetrics } },
    { path: "/stats/prometheus", methods: { GET: collectMetrics } },
    {
      path: "/healthz/ready",
      methods: {
        GET: () => showReadiness(target),
      },
    },
    { path: "/healthz/live", methods: { GET: () => text(200, "ok") } },
  ];
}

/** A gateway is ready while the API server is away: it serves what it read last. */
function showReadiness(target: AdminTarget): Response {
  const readiness = target.readiness();
  const problem = target.sourceProblem();
  return text(
    readiness === "ready" ? 200 : 503,
    problem === undefined ? readiness : `${readiness}\n${problem}`,
  );
}
