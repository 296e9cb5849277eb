import { readKeyTable } from "../../import/keys/litellm_keys.ts";
import { type AdminAddress, requestJson } from "../../client/admin_client.ts";
import { listOf } from "../../output/json_fields.ts";
import { print, printError } from "../../output/output.ts";
import { printable } from "../../output/printable.ts";
import { exitCodes, Failure } from "../../process/exit.ts";
import { readInput } from "../../process/read_input.ts";

/** Options of `keys import`. */
export interface ImportKeysOptions extends AdminAddress {
  readonly dryRun?: boolean;
}

/** Creates the teams, users and keys of a table of LiteLLM; returns the exit code, which is a failure if one could not be created. */
export async function importKeys(
  file: string,
  { dryRun = false, ...address }: ImportKeysOptions,
): Promise<number> {
  const name = file === "-" ? "<stdin>" : file;
  const { objects, notes } = readKeyTable(name, await readInput(file));
  for (const { line, column, message } of notes) {
    await printError(
      printable(`${name}:${line}:${column}: warning: ${message}`) + "\n",
    );
  }
  let [failed, existing] = [0, 0];
  for (const { kind, fields, line, isImplied } of objects) {
    if (dryRun) {
      await print(`${printable(`${kind} ${fields["id"]}`)}\n`);
      continue;
    }
    try {
      const query = { method: "POST", body: fields } as const;
      const pathAndQuery = `/access/${kind}s`;
      await requestJson(address, { ...query, pathAndQuery }, "object");
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (isImplied && await exists(address, `${kind}s/${fields["id"]}`)) {
        existing++;
        continue;
      }
      failed++;
      await printError(
        `${printable(`${name}:${line}:1: error: ${error.message}`)}\n`,
      );
    }
  }
  const done = objects.length - failed - existing;
  await printError(
    `${done} ${
      dryRun ? "would be created" : "created"
    }, ${failed} failed, ${notes.length} ${
      notes.length === 1 ? "warning" : "warnings"
    }\n`,
  );
  return failed === 0 ? exitCodes.ok : exitCodes.failure;
}

async function exists(address: AdminAddress, object: string): Promise<boolean> {
  try {
    const pathAndQuery = `/access/${object}`;
    const found = await requestJson(address, { pathAndQuery }, "objects");
    return listOf(found, "objects").length > 0;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}
