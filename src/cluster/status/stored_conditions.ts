import {
  isJsonObject,
  type JsonObject,
  objectsAt,
  valueAt,
} from "../../base/json.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import type { Condition } from "../../compile/outcomes/conditions.ts";

/** A condition as the API server stores it; `metav1.Condition`. */
export interface StoredCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  /** RFC 3339, without fractions of seconds. */
  readonly lastTransitionTime: string;
}

/** Longest message that the API server accepts. */
const MAX_MESSAGE = 32768;

/** Converts conditions for storage; one whose status has not changed keeps the time of its last transition. */
export function storeConditions(
  conditions: readonly Condition[],
  { before, generation, now }: {
    /** The conditions that are stored. */
    readonly before: readonly JsonObject[];
    readonly generation: number;
    /** Milliseconds since the epoch. */
    readonly now: number;
  },
): readonly StoredCondition[] {
  return conditions.map(({ type, status, reason, message }) => {
    const value = status ? "True" : "False";
    const old = before.find((each) => each["type"] === type);
    const time = old?.["lastTransitionTime"];
    return {
      type,
      status: value,
      reason,
      // Halves of characters would come back as others, and be written again and again.
      message: message.slice(0, MAX_MESSAGE).toWellFormed(),
      observedGeneration: generation,
      lastTransitionTime: old?.["status"] === value && typeof time === "string"
        ? time
        : formatTime(now),
    };
  });
}

function formatTime(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+/, "");
}

/** Reports whether the fields of `desired` are stored with these values, whatever else is. */
export function isStored(stored: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    return Array.isArray(stored) && stored.length === desired.length &&
      desired.every((item, index) => isStored(stored[index], item));
  }
  if (isJsonObject(desired)) {
    return isJsonObject(stored) &&
      Object.entries(desired).every(([name, value]) =>
        isStored(stored[name], value)
      );
  }
  return stored === desired;
}

/** Returns the context of the conditions in `holder`, which belongs to `object`. */
export function contextOf(
  object: KubernetesObject,
  holder: unknown,
  now: number,
) {
  return {
    before: objectsAt(valueAt(holder, "status") ?? holder, "conditions"),
    generation: object.metadata.generation ?? 0,
    now,
  };
}

/** Reports whether a compiled object is of the generation that is stored. */
export function isSameGeneration(
  { metadata }: KubernetesObject,
  compiled: KubernetesObject | undefined,
): boolean {
  return compiled !== undefined &&
    metadata.generation === compiled.metadata.generation;
}
