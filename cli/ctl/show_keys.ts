import { readAdmin, requestJson } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { exitCodes } from "../process/exit.ts";
import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { printAs, type TableOptions } from "../output/print_as.ts";
import { tableOf } from "../output/table.ts";

/** Prints the keys and the metadata of identity providers with their age and errors. */
export async function showKeys(
  { output, ...address }: TableOptions,
): Promise<void> {
  await printKeys(output, await readAdmin(address, "/config_dump", "keySets"));
}

/** Makes a running gateway fetch keys and metadata, and prints them; the exit code is 1 when a fetch failed. */
export async function refreshKeys(
  { output, ...address }: TableOptions,
): Promise<number> {
  const state = await requestJson(address, {
    method: "POST",
    pathAndQuery: "/keys/refresh",
    extraMs: FETCH_MS,
  }, "keySets");
  await printKeys(output, state);
  const all = [
    ...listOf(state, "keySets"),
    ...listOf(state, "providerMetadata"),
  ];
  const hasFailed = all.some((each) => fieldOf(each, "lastError") !== null);
  return hasFailed ? exitCodes.failure : exitCodes.ok;
}

/** A fetch in progress ends before the next one begins, and metadata can be at two addresses. */
const FETCH_MS = 20_000;

async function printKeys(
  output: TableOptions["output"],
  state: unknown,
): Promise<void> {
  const keySets = listOf(state, "keySets");
  const providerMetadata = listOf(state, "providerMetadata");
  if (output !== "table") {
    return await printAs(output, { keySets, providerMetadata });
  }
  if (keySets.length === 0) return await print("No policy uses keys\n");
  await print(tableOf([
    ["DOCUMENT", "ISSUER", "KEY IDS", "AGE", "NEXT REFRESH", "SOURCE", "ERROR"],
    ...keySets.map((each) => row("keys", each)),
    ...providerMetadata.map((each) => row("metadata", each)),
  ]));
}

function row(document: string, state: unknown): readonly string[] {
  const age = textOf(state, "ageSeconds");
  return [
    document,
    printable(listOf(state, "issuers").join(", ")) || "-",
    printable(listOf(state, "kids").join(", ")) || "-",
    age === "" ? "-" : `${age}s`,
    textOf(state, "refreshAt").replace(/\.\d+Z$/, "Z") || "-",
    textOf(state, "source"),
    textOf(state, "lastError"),
  ];
}
