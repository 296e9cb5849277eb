import { parseAllYaml } from "../../src/base/yaml_library.ts";
import { fileSource } from "../../src/config/configuration_source.ts";
import { requestJson } from "../client/admin_client.ts";
import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { printAs, type TableOptions } from "../output/print_as.ts";
import { type Column, tableOfJson } from "../output/table.ts";
import { UsageError } from "../process/exit.ts";

/** Options of `try`. */
export interface TryOptions extends TableOptions {
  readonly against: { readonly last: number };
  readonly route?: string;
  readonly deny?: boolean;
}

/** A gateway compiles two configurations, and replays a thousand requests. */
const TRIAL_MS = 60_000;

/** Prints what a rule would change. */
export function tryRule(rule: string, options: TryOptions): Promise<void> {
  const action = options.deny === true ? "Deny" : "Allow";
  return tryChange({ rule, action }, options);
}

/** Prints what a limit would change. @throws {UsageError} When it is no YAML. */
export function tryLimit(limit: string, options: TryOptions): Promise<void> {
  return tryChange({ limit: readYaml(limit) }, options);
}

/** Prints what a configuration would change. */
export async function tryConfig(
  file: string,
  options: TryOptions,
): Promise<void> {
  await tryChange({ files: await fileSource(file).read() }, options);
}

function readYaml(text: string): unknown {
  try {
    const [limit, ...others] = parseAllYaml(text);
    if (others.length === 0) return limit;
  } catch {
    // The message of the parser is about lines of a file.
  }
  throw new UsageError(
    `Invalid limit: expected YAML such as "{requests: 10, unit: Minutes}"`,
  );
}

async function tryChange(
  change: object,
  { against: { last }, route, ...options }: TryOptions,
): Promise<void> {
  const body = { ...change, last, ...(route !== undefined && { route }) };
  const report = await requestJson(options, {
    method: "POST",
    pathAndQuery: "/try",
    body,
    extraMs: TRIAL_MS,
  }, "summary");
  await (options.output === "table"
    ? print(describe(report))
    : printAs(options.output, report));
}

function describe(report: unknown): string {
  const count = Number(textOf(report, "requests"));
  if (count === 0) return "No requests are recorded yet\n";
  const since = textOf(report, "since").replace(/\.\d+Z$/, "Z");
  const requests = count === 1 ? "request" : "requests";
  const summary = `Of ${count} ${requests} since ${since}: ${
    printable(textOf(report, "summary"))
  }\n`;
  const examples = listOf(report, "examples");
  if (examples.length === 0) return summary;
  const names = ["change", "method", "path", "key", "team", "model", "route"];
  return `${summary}\n${
    tableOfJson(
      [
        ["TIME", (each) => textOf(each, "time").slice(11, 19)],
        ...shown(names, examples),
        ["BECAUSE", "because"],
      ],
      examples,
      "-",
    )
  }`;
}

/** Omits columns without a value. */
function shown(
  names: readonly string[],
  examples: readonly unknown[],
): readonly Column[] {
  return names.filter((name) =>
    examples.some((each) => fieldOf(each, name) !== null)
  ).map((name) => [name.toUpperCase(), name]);
}
