import { POLICY_API_GROUP } from "../../api/schema/group.ts";
import {
  type Resource,
  resourceKey,
} from "../../api/resources/resource_set.ts";
import type { Path, Problem } from "../../api/schema/validate.ts";
import {
  type Diagnostic,
  diagnosticOf,
} from "../diagnostics/located_diagnostic.ts";
import type { ConfigDocument } from "../yaml/config_document.ts";

/** Source of a part of a resource. */
export interface Origin {
  /** Path in the resource: `["spec", "rules", 0]`. */
  readonly at: Path;
  /** Path in the document: `["routes", 3]`. */
  readonly from: Path;
  /** The user did not write the content below `at` in that form, so `from` represents all of it. */
  readonly whole?: boolean;
}

/** A resource with the sources of its parts. */
export interface Placed<R extends Resource = Resource> {
  readonly resource: R;
  readonly document: ConfigDocument;
  readonly origins: readonly Origin[];
  /** Paths in the user's item that were invalid and left out; omitted when it is valid. */
  readonly removed?: readonly Path[];
}

/** Maps a path in the resource to the path in the user's document. */
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

/** Converts a problem at a path in a document to a diagnostic. Never shows values of environment variables. */
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
  // A quoted reference always yields a string.
  const remedy = problem.message === "expected a number" &&
    /^"[0-9]+"$/.test(problem.got) &&
    `remove the quotes and write it on a separate line: ${path.at(-1)}: \${${
      names.join("")
    }}`;
  // The original remedy may contain the value.
  const { remedy: _, ...rest } = problem;
  const shown = { ...rest, got, ...(remedy && { remedy }) };
  return diagnosticOf(shown, location, path);
}

/** Converts a problem at a path in a resource to a diagnostic. */
export function diagnose(placed: Placed, problem: Problem): Diagnostic {
  return diagnoseAt(
    placed.document,
    originalPath(placed.origins, problem.path),
    problem,
  );
}

/** Formats the identity of a resource: `HTTPRoute/default/mcp`. */
export function placedKey(placed: Placed): string {
  return resourceKey(placed.resource);
}

/** Names a resource that the loader generates for a part of another: `mcp/backend0`. */
export function generatedName(owner: string, part: string): string {
  return `${owner}/${part}`;
}

/** Reports whether a resource was generated from a part of another, which has been validated there. */
export function isGenerated(resource: Resource): boolean {
  return resource.metadata.name.includes("/");
}

/** Reference fields for the project's own backend kind. */
export const backendKind = {
  group: POLICY_API_GROUP,
  kind: "GatewayBackend",
} as const;

/** Namespace of all resources in the short form. */
export const DEFAULT_NAMESPACE = "default";

/** An item of the short form, or its valid parts, and its path: `["routes", 3]`. */
export interface ShortItem<T> {
  readonly value: T;
  readonly path: Path;
  readonly document: ConfigDocument;
  /** As `Placed.removed`. */
  readonly removed?: readonly Path[];
}
