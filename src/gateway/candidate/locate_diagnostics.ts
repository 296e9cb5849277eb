import { resourceKey } from "../../api/resources/resource_set.ts";
import type { ResourceDiagnostic } from "../../base/diagnostic.ts";
import {
  type ConfigText,
  type Diagnostic,
  isError,
  sortDiagnostics,
} from "../../config/diagnostics/located_diagnostic.ts";
import type { LoadedConfig } from "../../config/loaded_config.ts";
import type { ApplyResult } from "../../dataplane/apply_result.ts";

/** The loaded configuration, and the texts it is from. */
interface Located {
  readonly loaded: LoadedConfig;
  readonly sources: readonly ConfigText[];
}

/** Returns the diagnostics of the loader and of the data plane with their locations, in the order of the files. */
export function locateDiagnostics(
  { loaded, sources }: Located,
  { diagnostics, reason, port }: Pick<
    ApplyResult,
    "diagnostics" | "reason" | "port"
  >,
): readonly Diagnostic[] {
  const isConsequence = consequencesOf(loaded.diagnostics);
  const located = diagnostics.map((each) => locate(loaded, each)).filter(
    (each) => !isConsequence(each),
  );
  const portError = reason === undefined ? [] : [
    locatePort(loaded, port, reason) ?? {
      ...{ file: sources[0]?.name ?? "", line: 1, column: 1, path: "" },
      ...{ severity: "error" as const, message: reason },
    },
  ];
  return sortDiagnostics(
    [...loaded.diagnostics, ...located, ...portError],
    sources,
  );
}

/** Locates a port that cannot be opened at its first listener. */
export function locatePort(
  { resources, diagnose }: LoadedConfig,
  port: number | undefined,
  reason: string,
): Diagnostic | undefined {
  for (const gateway of resources.gateways) {
    const index = gateway.spec.listeners.findIndex((listener) =>
      listener.port === port
    );
    if (index < 0) continue;
    return diagnose(resourceKey(gateway), {
      path: ["spec", "listeners", index, "port"],
      at: "value",
      message: `${reason} (gateway "${gateway.metadata.name}")`,
    });
  }
  return undefined;
}

/** Returns a test for problems of values that an error of the loader is about, or is in: they may be its consequences. */
function consequencesOf(
  causes: readonly Diagnostic[],
): (diagnostic: Diagnostic) => boolean {
  const places = new Set<string>();
  for (const cause of causes.filter(isError)) {
    places.add(placeOf(cause));
    for (const { index } of cause.path.matchAll(/$|[.[]/g)) {
      places.add(`${cause.file} ${cause.path.slice(0, index)}`);
    }
  }
  return (each) =>
    places.has(placeOf(each)) || places.has(`${each.file} ${each.path}`);
}

function placeOf({ file, line, column }: Diagnostic): string {
  return `${file}:${line}:${column}`;
}

function locate(
  loaded: LoadedConfig,
  { severity, resource, ...problem }: ResourceDiagnostic,
): Diagnostic {
  const { kind, namespace, name } = resource;
  const key = resourceKey({ kind, metadata: { namespace, name } });
  const located = loaded.diagnose(key, { ...problem, at: "value" });
  return { ...located, severity };
}
