import { POLICY_API_GROUP } from "../api/resources/group.ts";
import { type Resource, resourceKey } from "../api/resources/resource_set.ts";
import type { Path, Problem } from "../api/schema/validate.ts";
import {
  type Diagnostic,
  diagnosticOf,
} from "./diagnostics/located_diagnostic.ts";
import type { ConfigDocument } from "./config_document.ts";

/** Where a part of a resource was written. */
export interface Origin {
  /** Way within the resource: `["spec", "rules", 0]`. */
  readonly at: Path;
  /** Way within the document: `["routes", 3]`. */
  readonly from: Path;
  /** What lies below `at` was not written by the user in that form, so `from` stands for all of it. */
  readonly whole?: boolean;
}

/** A resource and where its parts were written. */
export interface Placed<R extends Resource = Resource> {
  readonly resource: R;
  readonly document: ConfigDocument;
  readonly origins: readonly Origin[];
}

/** Way in the user's document to what is at `path` in the resource. */
export function originalPath(origins: readonly Origin[], path: Path): Path {
  let best: Origin = { at: [], from: [] };
  for (const origin of origins) {
    if (origin.at.length >= best.at.length && startsWith(path, origin.at)) {
      best = origin;
    }
  }
  return best.whole ? best.from : [...best.from, ...path.slice(best.at.length)];
}

function startsWith(path: Path, prefix: Path): boolean {
  return prefix.every((step, index) => step === path[index]);
}

/** The diagnostic of a problem at a way within a document. Values from the environment are not shown. */
export function diagnoseAt(
  document: ConfigDocument,
  path: Path,
  problem: Problem,
): Diagnostic {
  const location = document.locate(path, problem.at, problem.offset);
  const names = document.substituted(path);
  if (problem.got === undefined || names.length === 0) {
    return diagnosticOf(problem, location, path);
  }
  const got = `the value of ${
    names.map((name) => `\${${name}}`).join(" and ")
  }`;
  // What is made of a value in quotes is a text, whatever the variable holds.
  const remedy = problem.message === "expected a number" &&
    /^"[0-9]+"$/.test(problem.got) &&
    `write it without quotes, on a line of its own: ${path.at(-1)}: \${${
      names.join("")
    }}`;
  // The remedy of the problem itself may repeat the value.
  const { remedy: _, ...rest } = problem;
  const shown = { ...rest, got, ...(remedy && { remedy }) };
  return diagnosticOf(shown, location, path);
}

/** The diagnostic of a problem at a way within a resource. */
export function diagnose(placed: Placed, problem: Problem): Diagnostic {
  return diagnoseAt(
    placed.document,
    originalPath(placed.origins, problem.path),
    problem,
  );
}

/** Identity of a placed resource: `HTTPRoute/default/mcp`. */
export function placedKey(placed: Placed): string {
  return resourceKey(placed.resource);
}

/** Name of a resource that the loader makes for a part of another: `mcp/backend0`. */
export function generatedName(owner: string, part: string): string {
  return `${owner}/${part}`;
}

/** Whether a resource was made for a part of another; its parts have been validated there. */
export function isGenerated(resource: Resource): boolean {
  return resource.metadata.name.includes("/");
}

/** Reference fields that name a backend of ours. */
export const backendKind = {
  group: POLICY_API_GROUP,
  kind: "GatewayBackend",
} as const;

/** Namespace of everything in the short form. */
export const DEFAULT_NAMESPACE = "default";

/** A valid item of the short form and where it stands: `["routes", 3]`. */
export interface ShortItem<T> {
  readonly value: T;
  readonly path: Path;
  readonly document: ConfigDocument;
}
