import type { Metadata } from "../api/resources/resource.ts";

/** What decides between resources of equal rank. */
interface Aged {
  readonly metadata: Pick<Metadata, "creationTimestamp" | "namespace" | "name">;
}

/**
 * Orders resources by age, then by `namespace/name`: the Gateway API's rule for every conflict.
 * Those without a timestamp, as they stand in files, are the oldest.
 */
export function compareAge(a: Aged, b: Aged): number {
  return createdAt(a) - createdAt(b) || compareText(fullName(a), fullName(b));
}

/** `namespace/name` of a resource, as messages and keys write it. */
export function fullName({ metadata }: Aged): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function createdAt({ metadata }: Aged): number {
  const time = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(time) ? 0 : time;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
