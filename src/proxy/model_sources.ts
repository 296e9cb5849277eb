import type { Route } from "../snapshot/snapshot.ts";
import type { Exchange } from "./exchange/exchange.ts";
import type { Upstreams } from "./upstreams.ts";
import type { ModelSource } from "./llm/llm_call.ts";

/** A hostname may have thousands of routes; each LLM backend is asked for its models. */
const MAX_SOURCES = 32;

/**
 * Returns the LLM backends that clients reach where they request a list of models: those of the route and, where routes have conditions
 * on the model, those of the other routes. A route's policies decide on requests, not on names in the list.
 */
export function modelSources(
  { routed }: Exchange,
  route: Route,
  upstreams: Upstreams,
): readonly ModelSource[] {
  const { listener } = routed;
  const byModel = listener?.readsModel === true;
  const routes = byModel
    ? new Set([route, ...listener.routes.candidates(routed.hostname)])
    : [route];
  const sources: ModelSource[] = [];
  for (const each of routes) {
    const seen = new Set<string>();
    for (const { backend, weight } of each.backends) {
      if (backend?.llm === undefined || weight === 0) continue;
      if (seen.has(backend.key)) continue;
      seen.add(backend.key);
      if (sources.length >= MAX_SOURCES) return sources;
      sources.push({
        target: backend.llm,
        destination: upstreams.get(backend),
        serves: (model) => !byModel || routed.leadsTo(each, model),
      });
    }
  }
  return sources;
}
