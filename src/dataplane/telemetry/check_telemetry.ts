import { adminRoles } from "../../api/admin_login_schema.ts";
import type { Settings } from "../../api/settings.ts";
import type { Problem } from "../../api/schema/validate.ts";
import { describeError } from "../../base/errors.ts";
import { readFileText } from "../../base/regular_file.ts";
import type { ExpressionPlace } from "../../policy/expressions/telemetry_expressions.ts";

/** An expression of the settings. */
interface SettingsExpression {
  readonly path: readonly string[];
  readonly text: string;
  readonly place: ExpressionPlace;
  readonly types: readonly ("boolean" | "number" | "string")[];
}

/** Returns the problems of expressions and files in the settings of spans, metrics and logs; paths begin below `config`. */
export async function checkTelemetry(
  settings: Settings,
): Promise<readonly Problem[]> {
  const problems: Problem[] = [];
  const expressions = [...expressionsOf(settings)];
  if (expressions.length > 0) {
    const { telemetryProblem } = await import(
      "../../policy/expressions/telemetry_expressions.ts"
    );
    for (const { path, text, place, types } of expressions) {
      const message = telemetryProblem(text, place, types);
      if (message !== undefined) problems.push({ path, at: "value", message });
    }
  }
  const { caFile } = settings.otlp ?? {};
  if (caFile === undefined) return problems;
  try {
    await readFileText(caFile);
  } catch (error) {
    const message = `Cannot read the file: ${describeError(error)}`;
    problems.push({ path: ["otlp", "caFile"], at: "value", message });
  }
  return problems;
}

function* expressionsOf(
  { tracing, accessLog, adminLogin }: Settings,
): Iterable<SettingsExpression> {
  if (adminLogin?.team !== undefined) {
    const path = ["adminLogin", "team"];
    const { team } = adminLogin;
    yield { path, text: team, place: "claims", types: ["string"] };
  }
  for (const role of adminRoles) {
    const text = adminLogin?.roles[role];
    if (text === undefined) continue;
    const path = ["adminLogin", "roles", role];
    yield { path, text, place: "claims", types: ["boolean"] };
  }
  for (const field of ["randomSampling", "clientSampling"] as const) {
    const text = tracing?.[field];
    if (typeof text !== "string") continue;
    const path = ["tracing", field];
    yield { path, text, place: "arrival", types: ["boolean", "number"] };
  }
  for (const [name, text] of Object.entries(tracing?.attributes ?? {})) {
    const path = ["tracing", "attributes", name];
    yield { path, text, place: "end", types: [] };
  }
  const { filter, add } = accessLog;
  if (filter !== undefined) {
    const path = ["accessLog", "filter"];
    yield { path, text: filter, place: "end", types: ["boolean"] };
  }
  for (const [name, text] of Object.entries(add)) {
    yield { path: ["accessLog", "add", name], text, place: "end", types: [] };
  }
}
