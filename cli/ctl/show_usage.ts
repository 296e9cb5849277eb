import { readAdmin, requestJson } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { printAs, type TableOptions } from "../output/print_as.ts";
import { tableOf } from "../output/table.ts";

/** Options of `usage`. */
export interface UsageOptions extends TableOptions {
  /** `key`, `model` or `route`. */
  readonly by: string;
  /** Such as `24h` or `7d`. */
  readonly since: string;
}

/** Prints who used how many tokens, and what they cost. */
export async function showUsage(
  { output, by, since, ...address }: UsageOptions,
): Promise<void> {
  const query = new URLSearchParams({ by, since });
  const state = await readAdmin(address, `/usage?${query}`, "usage");
  const usage = listOf(state, "usage");
  if (output !== "table") return await printAs(output, usage);
  if (usage.length === 0) return await print("No LLM was used\n");
  await print(tableOf([
    [by.toUpperCase(), "REQUESTS", "INPUT", "OUTPUT", "USD", "UNCOUNTED"],
    ...usage.map((each) => [
      printable(textOf(each, "name")) || "-",
      textOf(each, "requests"),
      textOf(each, "inputTokens"),
      textOf(each, "outputTokens"),
      Number(fieldOf(each, "costUsd")).toFixed(6),
      textOf(each, "uncounted"),
    ]),
  ]));
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
