import { readAdmin } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { fieldOf, listOf } from "../output/json_fields.ts";
import { printAs, type TableOptions } from "../output/print_as.ts";
import { tableOf } from "../output/table.ts";

/** Prints the rate limits of a running gateway with their remaining budgets. */
export async function showLimits(
  { output, ...address }: TableOptions,
): Promise<void> {
  const dump = await readAdmin(address, "/config_dump", "budgets");
  const budgets = listOf(dump, "budgets");
  if (output !== "table") return await printAs(output, budgets);
  await print(
    budgets.length === 0 ? "No rate limits\n" : tableOfLimits(budgets),
  );
}

const columns = [
  ["SCOPE", "scope"],
  ["LIMIT", "entry"],
  ["LEFT", "remaining"],
  ["OF", "limit"],
  ["HELD", "held"],
  ["RESET", "resetSeconds"],
  ["KEYS", "keys"],
  ["EVICTED", "evictedKeys"],
  ["OVERSHOOT", "overshoot"],
  ["ADMITTED", "admitted"],
  ["REFUSED", "refused"],
  ["LEASED", "leased"],
  ["PENDING", "pending"],
  ["STATE", "state"],
  ["ERROR", "lastError"],
] as const;

/** Formats the limits; omits empty columns, except the remaining budget, which may be unknown. */
function tableOfLimits(budgets: readonly unknown[]): string {
  const shown = columns.filter(([, field]) =>
    field === "remaining" ||
    budgets.some((budget) => fieldOf(budget, field) !== undefined)
  );
  const rows = [
    shown.map(([title]) => title),
    ...budgets.map((budget) =>
      shown.map(([, field]) => printable(cell(budget, field)))
    ),
  ];
  return tableOf(rows);
}

function cell(budget: unknown, field: string): string {
  const value = fieldOf(budget, field);
  if (value === undefined) return field === "remaining" ? "-" : "";
  return field === "resetSeconds" ? `${value}s` : String(value);
}
