import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { Kind, KindSchemas } from "../api/resources/resource_set.ts";
import { nearest } from "../api/schema/suggest.ts";
import {
  describeMissing,
  type Path,
  type Problem,
  show,
  validate,
} from "../api/schema/validate.ts";
import type { Placed } from "./short_form/placed.ts";
import { salvage } from "./short_form/salvage.ts";
import { listOf, type Report } from "./short_form/short_document.ts";
import type { ConfigDocument } from "./yaml/config_document.ts";

/** Schemas that resources are checked with, and the receiver of problems. */
export interface KubernetesReading {
  readonly kinds: KindSchemas;
  readonly report: Report;
}

/** Returns the resource of a Kubernetes document, or the resources of a `List`, in steps; of invalid ones, the valid parts. */
export function* readKubernetes(
  document: ConfigDocument,
  value: JsonObject,
  reading: KubernetesReading,
): Generator<void, readonly Placed[]> {
  const { report } = reading;
  if (value["kind"] !== "List") {
    return placeResource(document, value, reading, []);
  }
  const placed: Placed[] = [];
  for (const [index, item] of listOf(value, "items", report).entries()) {
    const path = ["items", index];
    if (isJsonObject(item)) {
      placed.push(...placeResource(document, item, reading, path));
    } else {
      const message = "expected a mapping";
      report(path, { at: "value", message, got: show(item) });
    }
    yield;
  }
  return placed;
}

function placeResource(
  document: ConfigDocument,
  value: JsonObject,
  { kinds, report }: KubernetesReading,
  path: Path,
): readonly Placed[] {
  const read = readResource(
    value,
    kinds,
    (problem) => report([...path, ...problem.path], problem),
  );
  return read === undefined
    ? []
    : [{ ...read, document, origins: [{ at: [], from: path }] }];
}

function readResource(
  value: JsonObject,
  kinds: KindSchemas,
  report: (problem: Problem) => void,
): Pick<Placed, "resource" | "removed"> | undefined {
  const { status: _, ...written } = value;
  const kind = written["kind"];
  if (!isKind(kind, kinds)) {
    const problems = kind === undefined
      ? describeMissing(["kind"], written)
      : [unknownKind(kind, kinds)];
    for (const problem of problems) report(problem);
    return undefined;
  }
  const result = validate(kinds[kind], written);
  if (result.ok) return { resource: result.value };
  for (const problem of result.problems) report(problem);
  // Listeners would conflict with others, or not, only because of what is left out.
  if (kind === "Gateway" || kind === "ListenerSet") return undefined;
  const parts = salvage(kinds[kind], written, result.problems);
  return parts && { resource: parts.value, removed: parts.removed };
}

function isKind(kind: unknown, kinds: KindSchemas): kind is Kind {
  return typeof kind === "string" && Object.hasOwn(kinds, kind);
}

function unknownKind(kind: unknown, schemas: KindSchemas): Problem {
  const kinds = Object.keys(schemas);
  const suggestion = typeof kind === "string"
    ? nearest(kind, kinds)
    : undefined;
  return {
    path: ["kind"],
    at: "value",
    message: `expected one of ${kinds.join(", ")}`,
    got: show(kind),
    ...(suggestion !== undefined && { suggestion }),
  };
}
