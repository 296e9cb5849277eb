import { createHash } from "node:crypto";
import { resourceKey } from "../../api/resources/resource_set.ts";
import { systemClock } from "../../base/clock.ts";
import { readFileText } from "../../base/regular_file.ts";
import type { Diagnostic } from "../../config/diagnostics/located_diagnostic.ts";
import type { LoadedConfig } from "../../config/loaded_config.ts";
import { convertOnce } from "../../mcp/openapi/conversion_thread.ts";
import type { OperationSelection } from "../../mcp/openapi/document/rest_tool.ts";

/** Problems of a document that are reported one by one. */
const MAX_SHOWN = 10;

interface DocumentFinding {
  readonly severity: Diagnostic["severity"];
  readonly message: string;
}

/**
 * Converts the OpenAPI documents that a configuration has as files: a document that cannot be used is an error, a part that cannot
 * become a tool a warning, with its JSON pointer. Documents at URLs are not fetched.
 */
export async function checkDocuments(
  { resources, diagnose }: LoadedConfig,
): Promise<readonly Diagnostic[]> {
  const documents = resources.gatewayBackends.flatMap((backend) =>
    (backend.spec.mcp?.servers ?? []).flatMap(({ openapi }, index) => {
      const { file } = openapi ?? {};
      if (openapi === undefined || file === undefined) return [];
      const path = ["spec", "mcp", "servers", index, "openapi", "file"];
      const { include, exclude } = openapi;
      const selection = { include, exclude };
      return [{ key: resourceKey(backend), path, file, selection }];
    })
  );
  const found: Diagnostic[] = [];
  for (const { key, path, file, selection } of documents) {
    for (const { severity, message } of await check(file, selection)) {
      const located = diagnose(key, { path, message, at: "value" });
      found.push({ ...located, severity });
    }
  }
  return found;
}

async function check(
  file: string,
  selection: OperationSelection,
): Promise<readonly DocumentFinding[]> {
  // The compiler reports a file that cannot be read.
  const text = await readFileText(file).catch(() => undefined);
  if (text === undefined) return [];
  const digest = createHash("sha256").update(text).digest("base64url");
  const outcome = await convertOnce(
    text,
    digest,
    selection,
    systemClock,
    true,
  );
  if ("problem" in outcome) {
    const message =
      `Cannot use the OpenAPI document ${file}: ${outcome.problem}`;
    return [{ severity: "error", message }];
  }
  const { tools, problems } = outcome.converted;
  const warnings = problems.slice(0, MAX_SHOWN)
    .map(({ place, message }) => `${file}${place}: ${message}`);
  const more = problems.length - warnings.length;
  if (more > 0) {
    warnings.push(`${file}: ${more} more parts cannot become tools`);
  }
  if (tools.length === 0) {
    warnings.push(
      `${file}: no operation becomes a tool; check "include" and "exclude"`,
    );
  }
  return warnings.map((message) => ({ severity: "warning", message }));
}
