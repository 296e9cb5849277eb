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
  let [failed, untouched] = [0, 0];
  const missingTeams = new Set<unknown>();
  for (const { kind, fields, line, isImplied } of objects) {
    const isForeignTeam = kind === "team" && isImplied === true;
    if (dryRun) {
      const text = `${kind} ${fields["id"]}`;
      if (isForeignTeam) untouched++;
      await print(
        `${printable(text)}${isForeignTeam ? " has to exist" : ""}\n`,
      );
      continue;
    }
    if (isForeignTeam && !await exists(address, `teams/${fields["id"]}`)) {
      missingTeams.add(fields["id"]);
      failed++;
      await printError(
        printable(
          `${name}:${line}:1: error: the team "${
            fields["id"]
          }" is neither in the file nor in the store: import /team/list first; its keys are left out, as they could do more without it`,
        ) + "\n",
      );
      continue;
    }
    if (isForeignTeam || missingTeams.has(fields["team"])) {
      untouched++;
      continue;
    }
    try {
      const query = { method: "POST", body: fields } as const;
      const pathAndQuery = `/access/${kind}s`;
      await requestJson(address, { ...query, pathAndQuery }, "object");
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (isImplied && await exists(address, `${kind}s/${fields["id"]}`)) {
        untouched++;
        continue;
      }
      failed++;
      await printError(
        `${printable(`${name}:${line}:1: error: ${error.message}`)}\n`,
      );
    }
  }
  const done = objects.length - failed - untouched;
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
