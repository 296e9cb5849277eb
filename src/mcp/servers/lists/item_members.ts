import { isJsonObject, type JsonObject } from "../../../base/json.ts";

/** Returns a value as SDKs of clients accept it; `undefined` if they accept none of it. */
type Repair = (value: unknown) => unknown;

/** Returns an object without those of its members that SDKs reject. */
function members(repairs: Readonly<Record<string, Repair>>): Repair {
  return (value) =>
    isJsonObject(value) ? withRepaired(value, repairs) : undefined;
}

function withRepaired(
  object: JsonObject,
  repairs: Readonly<Record<string, Repair>>,
): JsonObject {
  const repaired = Object.entries(object).flatMap(([name, value]) => {
    const repair = Object.hasOwn(repairs, name) ? repairs[name] : undefined;
    const kept = repair === undefined ? value : repair(value);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return Object.fromEntries(repaired);
}

/** Keeps a value that fulfills a condition. */
function only(isValid: (value: unknown) => boolean): Repair {
  return (value) => isValid(value) ? value : undefined;
}

/** Keeps a list whose items can be kept. */
function listOf(repair: Repair): Repair {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const items = value.map(repair);
    return items.includes(undefined) ? undefined : items;
  };
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

const text = only(isText);
const flag = only((value) => typeof value === "boolean");

function icon(value: unknown): unknown {
  return isJsonObject(value) && isText(value["src"])
    ? withRepaired(value, {
      mimeType: text,
      sizes: listOf(text),
      theme: only((theme) => theme === "light" || theme === "dark"),
    })
    : undefined;
}

function argument(value: unknown): unknown {
  return isJsonObject(value) && isText(value["name"])
    ? withRepaired(value, { title: text, description: text, required: flag })
    : undefined;
}

const dateTime =
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/;
const taskSupport: ReadonlySet<unknown> = new Set([
  "forbidden",
  "optional",
  "required",
]);

/** Optional members of the items of all lists. */
const optionalMembers: Readonly<Record<string, Repair>> = {
  title: text,
  description: text,
  mimeType: text,
  icons: listOf(icon),
  _meta: only(isJsonObject),
  annotations: members({
    title: text,
    readOnlyHint: flag,
    destructiveHint: flag,
    idempotentHint: flag,
    openWorldHint: flag,
    audience: listOf(only((role) => role === "user" || role === "assistant")),
    priority: only((value) =>
      typeof value === "number" && value >= 0 && value <= 1
    ),
    lastModified: only((value) =>
      typeof value === "string" && dateTime.test(value)
    ),
  }),
  execution: members({ taskSupport: only((value) => taskSupport.has(value)) }),
  outputSchema: only(isSchema),
  size: only(Number.isSafeInteger),
  arguments: (value) =>
    value === null ? undefined : listOf(argument)(value) ?? value,
};

/** Returns an item without those optional members for which SDKs of clients would reject the whole list, such as `null`. */
export function withValidMembers(item: JsonObject): JsonObject {
  return withRepaired(item, optionalMembers);
}

/** Reports whether a value is a schema whose members have the right types; schemas within it are not examined. */
export function isSchema(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const { $schema: dialect = "", properties = {}, required = [] } = value;
  return isText(dialect) && isJsonObject(properties) &&
    Object.values(properties).every((property) =>
      isJsonObject(property) || typeof property === "boolean"
    ) &&
    Array.isArray(required) && required.every(isText);
}
