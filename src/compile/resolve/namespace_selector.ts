import type { LabelSelector } from "../../api/resources/gateway_resource.ts";

/**
 * Reports whether a selector selects a namespace with these labels: one that is not set selects nothing, an empty one everything, and
 * a missing label satisfies `NotIn`, as in Kubernetes.
 */
export function selects(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return Object.entries(matchLabels).every(([name, value]) =>
    labels[name] === value
  ) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
      switch (operator) {
        case "Exists":
          return value !== undefined;
        case "DoesNotExist":
          return value === undefined;
        case "In":
          return value !== undefined && values.includes(value);
        case "NotIn":
          return value === undefined || !values.includes(value);
      }
    });
}
