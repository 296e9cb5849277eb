import { type AdminAddress, callAdmin } from "../admin_client.ts";
import { Failure } from "../exit.ts";
import { print } from "../output.ts";
import { printable } from "../tui/printable.ts";

/** How to show the limits. */
export interface ShowLimitsOptions extends AdminAddress {
  readonly output: "table" | "yaml" | "json";
}

/** Prints what is left of the rate limits of a running gateway. */
export async function showLimits(
  { output, ...address }: ShowLimitsOptions,
): Promise<void> {
  const dump: unknown = JSON.parse(
    await callAdmin(address, "GET", "/config_dump"),
  );
  const budgets = fieldOf(dump, "budgets");
  if (!Array.isArray(budgets)) {
    throw new Failure(
      'Cannot show limits: the gateway\'s dump has no "budgets"',
    );
  }
  if (output === "json") {
    await print(JSON.stringify(budgets, null, 2) + "\n");
    return;
  }
  if (output === "yaml") {
    const { printYaml } = await import("../../src/config/yaml.ts");
    await print(await printYaml(budgets));
    return;
  }
  await print(budgets.length === 0 ? "No rate limits\n" : tableOf(budgets));
}

const columns = [
  ["SCOPE", "scope"],
  ["LIMIT", "entry"],
  ["LEFT", "remaining"],
  ["OF", "limit"],
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

/** Columns that no limit has anything for are left out, but for what is left: that it is not known has to be seen. */
function tableOf(budgets: readonly unknown[]): string {
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
  const widths = shown.map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0))
  );
  return rows.map((row) =>
    row.map((text, at) => text.padEnd(widths[at] ?? 0)).join("  ").trimEnd() +
    "\n"
  ).join("");
}

function cell(budget: unknown, field: string): string {
  const value = fieldOf(budget, field);
  if (value === undefined) return field === "remaining" ? "-" : "";
  return field === "resetSeconds" ? `${value}s` : String(value);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}
