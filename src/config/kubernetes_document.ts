import { isJsonObject, type JsonObject } from "../base/json.ts";
import { kindSchemas, type Resource } from "../api/resources/resource_set.ts";
import { nearest } from "../api/schema/suggest.ts";
import {
  describeMissing,
  type Path,
  type Problem,
  show,
  validate,
} from "../api/schema/validate.ts";
import type { Placed } from "./placed.ts";
import { listOf, type Report } from "./short_form/short_document.ts";
import type { ConfigDocument } from "./config_document.ts";

/** Reports whether a document is a Kubernetes resource, not the short form. */
export function isKubernetes(
  value: JsonObject,
): boolean {
  return Object.hasOwn(value, "kind") || Object.hasOwn(value, "apiVersion");
}

/** Returns the valid resource of a Kubernetes document, or the valid resources of a `List`. */
export function readKubernetes(
  document: ConfigDocument,
  value: JsonObject,
  report: Report,
  path: Path = [],
): readonly Placed[] {
  if (value["kind"] === "List" && path.length === 0) {
    return listOf(value, "items", report).flatMap((item, index) =>
      isJsonObject(item)
        ? readKubernetes(document, item, report, ["items", index])
        : reject(report, ["items", index], {
          at: "value",
          message: "expected a mapping",
          got: show(item),
        })
    );
  }
  const resource = readResource(
    value,
    (problem) => report([...path, ...problem.path], problem),
  );
  return resource === undefined
    ? []
    : [{ resource, document, origins: [{ at: [], from: path }] }];
}

function readResource(
  value: JsonObject,
  report: (problem: Problem) => void,
): Resource | undefined {
  const { status: _, ...written } = value;
  const kind = written["kind"];
  if (!isKind(kind)) {
    const problems = kind === undefined
      ? describeMissing(["kind"], written)
      : [unknownKind(kind)];
    for (const problem of problems) report(problem);
    return undefined;
  }
  const result = validate(kindSchemas[kind], written);
  if (result.ok) return result.value;
  for (const problem of result.problems) report(problem);
  return undefined;
}

function isKind(kind: unknown): kind is keyof typeof kindSchemas {
  return typeof kind === "string" && Object.hasOwn(kindSchemas, kind);
}

function unknownKind(kind: unknown): Problem {
  const kinds = Object.keys(kindSchemas);
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

function reject(
  report: Report,
  path: Path,
  problem: Omit<Problem, "path">,
): [] {
  report(path, problem);
  return [];
}
