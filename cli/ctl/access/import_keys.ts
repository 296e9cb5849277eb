import {
  type KeyTableObject,
  readKeyTable,
} from "../../import/litellm/litellm_keys.ts";
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
  for (const object of objects) {
    const { kind, fields, line, isImplied } = object;
    const isForeignTeam = kind === "team" && isImplied === true;
    if (dryRun) {
      if (isForeignTeam) untouched++;
      const suffix = isForeignTeam ? " has to exist" : "";
      await print(`${printable(`${kind} ${fields["id"]}`)}${suffix}\n`);
      continue;
    }
    const isLeftOut = missingTeams.has(fields["team"]);
    const problem = isLeftOut
      ? undefined
      : await (isForeignTeam ? findTeam : create)(address, object);
    if (isForeignTeam && problem !== undefined) missingTeams.add(fields["id"]);
    if (problem !== undefined && problem !== "") {
      failed++;
      await printError(
        `${printable(`${name}:${line}:1: error: ${problem}`)}\n`,
      );
    } else if (problem === "" || isForeignTeam || isLeftOut) untouched++;
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

/** Creates an object; returns why it cannot be created, and an empty text for an owner without a row that exists. */
async function create(
  address: AdminAddress,
  { kind, fields, isImplied }: KeyTableObject,
): Promise<string | undefined> {
  try {
    const query = { method: "POST", body: fields } as const;
    const pathAndQuery = `/access/${kind}s`;
    await requestJson(address, { ...query, pathAndQuery }, "object");
    return undefined;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const isThere = isImplied === true &&
      await exists(address, `${kind}s/${fields["id"]}`);
    return isThere ? "" : error.message;
  }
}

/** Looks for a team that has no row; returns what to do if the store does not have it either. */
async function findTeam(
  address: AdminAddress,
  { fields: { id } }: KeyTableObject,
): Promise<string | undefined> {
  if (await exists(address, `teams/${id}`)) return undefined;
  return `the team "${id}" is neither in the file nor in the store: import /team/list first; its keys are left out, as they could do more without it`;
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
