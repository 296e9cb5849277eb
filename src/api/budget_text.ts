const amounts = ["usd", "tokens", "inputTokens", "outputTokens", "requests"];
const windows = ["second", "minute", "hour", "day", "week", "month"];

/** Expected form of a budget, for messages. */
export const EXPECTED_BUDGET = `an amount of ${amounts.join(", ")} for each ${
  windows.join(", ")
}, such as 50usd/month`;

/** Reads a budget such as `50usd/month` as the fields of a stored one; `undefined` if it is none. */
export function parseBudget(
  text: string,
): Readonly<Record<string, unknown>> | undefined {
  const [, amount = "", what = "", window = ""] =
    /^([0-9.]+) ?([a-z]+)\/([a-z]+)$/i.exec(text.trim()) ?? [];
  if (!amounts.includes(what) || !windows.includes(window)) return undefined;
  const unit = `${window[0]?.toUpperCase()}${window.slice(1)}s`;
  return what === "usd"
    ? { cost: { usd: Number(amount), unit } }
    : { [what]: Number(amount), unit };
}

/** Formats the fields of a stored budget as `50usd/month`; `undefined` if it has others, such as a time zone. */
export function formatBudget(
  { notifyAt: _, ...budget }: Readonly<Record<string, unknown>>,
): string | undefined {
  const { cost, unit } = budget;
  const money = typeof cost === "object" && cost !== null
    ? Object.entries(cost)
    : [];
  const fields = new Map<string, unknown>([
    ...Object.entries(budget),
    ...money,
  ]);
  const what = amounts.find((name) => typeof fields.get(name) === "number");
  const window = String(fields.get("unit") ?? unit).toLowerCase()
    .replace(/s$/, "");
  const text = `${fields.get(what ?? "")}${what}/${window}`;
  const parsed = parseBudget(text);
  return parsed !== undefined && isSame(parsed, budget) ? text : undefined;
}

/** Defaults of other fields are no difference. */
function isSame(
  one: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
): boolean {
  const shown = { ...other };
  for (const [name, value] of Object.entries(defaults)) {
    if (shown[name] === value) delete shown[name];
  }
  const sorted = (value: object) =>
    JSON.stringify(Object.entries(value).toSorted());
  return sorted(one) === sorted(shown);
}

const defaults = { burst: 0, reserve: false, whenExceeded: "Reject" };
