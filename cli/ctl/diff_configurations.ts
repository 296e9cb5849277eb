import { isJsonObject } from "../../src/base/json.ts";
import { fileSource } from "../../src/config/configuration_source.ts";
import { describeConfiguration } from "../../src/gateway/candidate.ts";
import { type AdminAddress, readAdmin } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { exitCodes } from "../process/exit.ts";
import {
  diffStates,
  linesOf,
} from "../../src/telemetry/trace/reading/diff_states.ts";

/** Options of `gateway config diff`. */
export interface DiffOptions extends AdminAddress {
  /** Makes a difference exit code 1. */
  readonly exitCode?: boolean;
}

/** Parts of a configuration dump that a file determines. */
const sections = [
  "config",
  "binds",
  "listeners",
  "routes",
  "backends",
  "policies",
] as const;

/**
 * Prints how the configuration of `file` differs from that of `other`, or else of the running gateway; returns the exit code.
 * @throws {ConfigurationError} When a file has an error.
 */
export async function diffConfigurations(
  file: string,
  other: string | undefined,
  options: DiffOptions,
): Promise<number> {
  const after = await describeFile(file);
  const before = other === undefined
    ? await readAdmin(options, "/config_dump", "version")
    : await describeFile(other);
  const lines = sections.flatMap((section) =>
    diffSection(section, itemsOf(before, section), itemsOf(after, section))
  );
  await print(
    lines.length === 0
      ? "No differences\n"
      : lines.map((line) => `${printable(line)}\n`).join(""),
  );
  const isDifferent = lines.length > 0 && options.exitCode === true;
  return isDifferent ? exitCodes.failure : exitCodes.ok;
}

/** Returns the dump as a gateway would show it: JSON has no `undefined`. */
async function describeFile(file: string): Promise<unknown> {
  const { description, settings } = await describeConfiguration(
    fileSource(file),
    Deno.env.toObject(),
  );
  const dump = { ...description, config: settings };
  return JSON.parse(JSON.stringify(dump));
}

/** Returns the items of a section by key; settings are one item. */
function itemsOf(dump: unknown, section: string): Map<string, unknown> {
  const items = isJsonObject(dump) ? dump[section] : undefined;
  if (!Array.isArray(items)) return new Map([["", items]]);
  return new Map(items.map((item, index) => {
    const { key, name } = isJsonObject(item) ? item : {};
    return [String(key ?? name ?? index), item];
  }));
}

function diffSection(
  section: string,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): readonly string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].flatMap((key) => {
    const name = key === "" ? section : `${section} ${key}`;
    if (!before.has(key)) return [`+ ${name}`];
    if (!after.has(key)) return [`- ${name}`];
    const changes = diffStates(before.get(key), after.get(key));
    if (changes.length === 0) return [];
    return [
      `~ ${name}`,
      ...changes.flatMap((change) => linesOf(change))
        .map(({ text }) => `    ${text}`),
    ];
  });
}
