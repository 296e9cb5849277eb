import type { Metadata } from "../../api/resources/resource.ts";
import type { ListenerSet } from "../../api/resources/listener_set.ts";

interface Ranked {
  readonly metadata: Pick<Metadata, "creationTimestamp" | "namespace" | "name">;
}

/**
 * Orders resources for conflicts as the Gateway API does: the oldest first, then by `namespace/name`.
 * Resources without a timestamp, as in files, are the oldest.
 */
export function comparePrecedence(a: Ranked, b: Ranked): number {
  const difference = createdAt(a) - createdAt(b);
  if (difference !== 0) return difference;
  return a.metadata.namespace === b.metadata.namespace
    ? compareText(a.metadata.name, b.metadata.name)
    : compareText(namespacedName(a), namespacedName(b));
}

/** Returns `namespace/name`, which messages and keys contain. */
export function namespacedName({ metadata }: Ranked): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Lists the names of the resources of a namespace. @param keys `namespace/name` of each resource. */
export function namesWithin(
  namespace: string,
  keys: Iterable<string>,
): string[] {
  const prefix = `${namespace}/`;
  return [...keys].filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length));
}

/** Parsed times: sorting thousands of routes reads each of them a dozen times. */
const times = new WeakMap<Ranked["metadata"], number>();

function createdAt({ metadata }: Ranked): number {
  if (metadata.creationTimestamp === undefined) return 0;
  return times.getOrInsertComputed(metadata, parseTime);
}

function parseTime({ creationTimestamp }: Ranked["metadata"]): number {
  const time = Date.parse(creationTimestamp ?? "");
  return Number.isNaN(time) ? 0 : time;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns the gateway of a listener set: `namespace/name`. */
export function gatewayOfSet({ metadata, spec }: ListenerSet): string {
  const { namespace = metadata.namespace, name } = spec.parentRef;
  return `${namespace}/${name}`;
}
