import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type { PolicyKind } from "../../policy/contract/policy_kind.ts";
import type { Named } from "../memory/report.ts";

/** Policy configuration from one place. */
export interface PolicyLayer {
  /** The `GatewayPolicy`, or the `HTTPRoute` whose rule has it as a filter. */
  readonly resource: Named;
  readonly traffic: TrafficPolicy;
  /** Target of the configuration, such as `HTTPRoute/default/llm`; its budgets belong to it. */
  readonly scope: string;
}

/** The layers of one level of attachment, the winner of a conflict first. */
export type PolicyLevel = readonly PolicyLayer[];

/** Merged configurations of one kind. */
export interface EffectivePolicy {
  readonly kind: PolicyKind;
  /** One for kinds that replace; else those of every level, the least specific first. */
  readonly layers: readonly PolicyLayer[];
}

/** Told of a layer that has no effect because another of the same level has the same kind. */
export type OnConflict = (
  loser: PolicyLayer,
  winner: PolicyLayer,
  kind: string,
) => void;

/**
 * Decides kind by kind what applies.
 *
 * @param levels The most specific first.
 * @param kinds In the order in which they run; that is the order of the result too.
 */
export function mergePolicies(
  levels: readonly PolicyLevel[],
  kinds: readonly PolicyKind[],
  onConflict: OnConflict,
): EffectivePolicy[] {
  const effective: EffectivePolicy[] = [];
  for (const kind of kinds) {
    const layers = kind.merge === "accumulate"
      ? levels.flatMap((level) => having(level, kind.name)).reverse()
      : mostSpecific(levels, kind.name, onConflict);
    if (layers.length > 0) effective.push({ kind, layers });
  }
  return effective;
}

/** Returns the configurations of a field that is no policy of its own, such as `timeouts`: the winner of each level, the most specific first. */
export function layersWith(
  levels: readonly PolicyLevel[],
  field: string,
  onConflict: OnConflict,
): readonly PolicyLayer[] {
  return levels.flatMap((level) => winners(level, field, onConflict));
}

function mostSpecific(
  levels: readonly PolicyLevel[],
  kind: string,
  onConflict: OnConflict,
): readonly PolicyLayer[] {
  return layersWith(levels, kind, onConflict).slice(0, 1);
}

function winners(
  level: PolicyLevel,
  kind: string,
  onConflict: OnConflict,
): readonly PolicyLayer[] {
  const [winner, ...losers] = having(level, kind);
  if (winner === undefined) return [];
  for (const loser of losers) onConflict(loser, winner, kind);
  return [winner];
}

function having(level: PolicyLevel, kind: string): PolicyLayer[] {
  return level.filter(({ traffic }) => traffic[kind] !== undefined);
}
