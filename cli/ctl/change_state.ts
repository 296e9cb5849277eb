import { requestJson } from "../client/admin_client.ts";
import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { print } from "../output/output.ts";
import type { TableOptions } from "../output/print_as.ts";
import { exitCodes } from "../process/exit.ts";
import { printView } from "./views.ts";

/** A fetch in progress ends before the next one begins, and metadata can be at two addresses. */
const FETCH_MS = 20_000;

/** Makes a running gateway fetch keys and metadata, and prints them; the exit code is 1 when a fetch failed. */
export async function refreshKeys(options: TableOptions): Promise<number> {
  const state = await requestJson(options, {
    method: "POST",
    pathAndQuery: "/keys/refresh",
    extraMs: FETCH_MS,
  }, "keySets");
  await printView("keys", options, state);
  const hasFailed = ["keySets", "providerMetadata"].some((name) =>
    listOf(state, name).some((each) => fieldOf(each, "lastError") !== null)
  );
  return hasFailed ? exitCodes.failure : exitCodes.ok;
}

/** Options of `limits reset`. */
export interface ResetLimitsOptions extends Omit<TableOptions, "output"> {
  /** Name of the limit, as `limits` shows it. */
  readonly limit?: string;
  readonly key?: string;
}

/** Makes budgets of a running gateway unused. */
export async function resetLimits(
  { limit, key, ...address }: ResetLimitsOptions,
): Promise<void> {
  const query = new URLSearchParams({
    ...(limit !== undefined && { limit }),
    ...(key !== undefined && { key }),
  });
  const state = await requestJson(address, {
    method: "POST",
    pathAndQuery: `/limits/reset?${query}`,
  }, "reset");
  const count = textOf(state, "reset");
  await print(`${count} ${count === "1" ? "budget" : "budgets"} reset\n`);
}
