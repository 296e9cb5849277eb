import { fileSource } from "../../src/config/configuration_source.ts";
import { describeConfiguration } from "../../src/gateway/candidate/candidate.ts";
import { configurationChanges } from "../../src/gateway/editing/configuration_changes.ts";
import { type AdminAddress, readAdmin } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { exitCodes } from "../process/exit.ts";

/** Options of `gateway config diff`. */
export interface DiffOptions extends AdminAddress {
  /** Makes a difference exit code 1. */
  readonly exitCode?: boolean;
}

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
  const lines = configurationChanges(before, after);
  await print(
    lines.length === 0
      ? "No differences\n"
      : lines.map((line) => `${printable(line)}\n`).join(""),
  );
  const isDifferent = lines.length > 0 && options.exitCode === true;
  return isDifferent ? exitCodes.failure : exitCodes.ok;
}

function describeFile(file: string): Promise<unknown> {
  return describeConfiguration(fileSource(file), Deno.env.toObject());
}
