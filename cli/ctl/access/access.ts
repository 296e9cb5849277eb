import { formatBudget } from "../../../src/api/budget_text.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import { requestJson } from "../../client/admin_client.ts";
import type { AdminAddress } from "../../client/admin_client.ts";
import { fieldOf, listOf, textOf } from "../../output/json_fields.ts";
import { print, printError } from "../../output/output.ts";
import { printableJson } from "../../output/printable.ts";
import { printAs, type TableOptions } from "../../output/print_as.ts";
import { tableOfJson } from "../../output/table.ts";
import { type FieldOptions, readFields } from "./access_fields.ts";

export type { FieldOptions } from "./access_fields.ts";

/** A kind of objects in the store of keys. */
export type AccessKind = "key" | "user" | "team";

/** Options of `list`. */
export interface ListOptions extends TableOptions {
  readonly team?: string;
  readonly user?: string;
  readonly status?: string;
  readonly after?: string;
  readonly limit?: number;
}

/** Options of commands about one object. */
export interface ChangeOptions extends TableOptions {
  readonly action?: string;
  readonly overlap?: string;
}

/** Lists objects of a kind. */
export async function listObjects(
  kind: AccessKind,
  { team, user, status, after, limit, ...options }: ListOptions,
): Promise<void> {
  const query = new URLSearchParams();
  for (
    const [name, value] of Object.entries({ team, user, status, after, limit })
  ) {
    if (value !== undefined) query.set(name, String(value));
  }
  const pathAndQuery = `${pathOf(kind)}?${query}`;
  const found = await requestJson(options, { pathAndQuery }, "objects");
  const objects = listOf(found, "objects");
  if (options.output !== "table") return await printAs(options.output, objects);
  await print(tableOf(kind, objects));
  if (fieldOf(found, "hasMore") === true) {
    await printError(
      `There are more: --after ${textOf(objects.at(-1), "id")}\n`,
    );
  }
}

/** Shows one object. */
export async function showObject(
  kind: AccessKind,
  id: string,
  options: TableOptions,
): Promise<void> {
  const pathAndQuery = `${pathOf(kind)}/${encodeURIComponent(id)}`;
  const found = await requestJson(options, { pathAndQuery }, "objects");
  const [object] = listOf(found, "objects");
  const left = listOf(found, "left");
  await printAs(options.output === "json" ? "json" : "yaml", {
    ...isJsonObject(object) && object,
    ...left.length > 0 && { left },
  });
}

/** Creates an object; prints a new key. */
export async function createObject(
  kind: AccessKind,
  id: string | undefined,
  options: FieldOptions & TableOptions,
): Promise<void> {
  const fields = { ...id !== undefined && { id }, ...readFields(options) };
  const query = { pathAndQuery: pathOf(kind), body: fields };
  const created = await change(options, query, `${kind} created`);
  const warning = kind === "key" ? warningOf(created) : "";
  if (warning !== "") await printError(`${warning}\n`);
}

/** Changes the fields of an object that are given. */
export async function updateObject(
  kind: AccessKind,
  id: string,
  options: FieldOptions & TableOptions,
): Promise<void> {
  const pathAndQuery = `${pathOf(kind)}/${encodeURIComponent(id)}`;
  const body = { action: "update", ...readFields(options) };
  await change(
    options,
    { pathAndQuery, body },
    `${kind} updated`,
    budgetsOf,
  );
}

/** Suspends, resumes, revokes or rotates an object; prints a new key. */
export async function changeObject(
  kind: AccessKind,
  id: string,
  { action, overlap, ...options }: ChangeOptions,
): Promise<void> {
  const pathAndQuery = `${pathOf(kind)}/${encodeURIComponent(id)}`;
  const body = { action, ...overlap !== undefined && { overlap } };
  await change(
    options,
    { pathAndQuery, body },
    `${kind} ${pastOf(action ?? "")}`,
    action === "rotate" ? oldKeyOf : undefined,
  );
}

/** The key goes to standard output alone, for scripts; everything else is for people. Returns the object. */
async function change(
  options: TableOptions & AdminAddress,
  query: { readonly pathAndQuery: string; readonly body: unknown },
  done: string,
  describe: (object: unknown) => string = () => "",
): Promise<unknown> {
  const request = { method: "POST", ...query } as const;
  const answer = await requestJson(options, request, "object");
  const object = fieldOf(answer, "object");
  if (options.output !== "table") {
    await printAs(options.output, answer);
    return object;
  }
  const secret = textOf(answer, "secret");
  await printError(
    `${done}: ${textOf(object, "id")}${describe(object)}${
      secret === "" ? "" : "; the key is not shown again:"
    }\n`,
  );
  if (secret !== "") await print(`${secret}\n`);
  return object;
}

/** Warns about a key that may do everything; empty if it may not. */
function warningOf(key: unknown): string {
  const isRestricted = ["team", "user", "allow", "budgets"]
    .some((name) => fieldOf(key, name) !== undefined);
  if (isRestricted) return "";
  const [ending, option] = fieldOf(key, "expiresAt") === undefined
    ? [" and never expires", ", --expires"]
    : ["", ""];
  return `warning: the key has no restriction and no budget${ending}: see --team, --user, --model, --tool, --route, --budget${option}`;
}

/** Lists the budgets of an object: `, budgets 50usd/month, 10requests/minute`. */
function budgetsOf(object: unknown): string {
  const budgets = listOf(object, "budgets").filter(isJsonObject)
    .map((each) => formatBudget(each) ?? printableJson(JSON.stringify(each)));
  return budgets.length === 0 ? "" : `, budgets ${budgets.join(", ")}`;
}

/** Tells until when the key before the current one is valid; the view has only those that are. */
function oldKeyOf(object: unknown): string {
  const until = textOf(listOf(object, "keys").at(-2), "expiresAt");
  return until === ""
    ? ", the old key is no longer valid"
    : `, the old key is valid until ${until}`;
}

function pastOf(action: string): string {
  return action === "rotate" ? "rotated" : `${action.replace(/e$/, "")}ed`;
}

function pathOf(kind: AccessKind): string {
  return `/access/${kind}s`;
}

function tableOf(kind: AccessKind, objects: readonly unknown[]): string {
  if (objects.length === 0) return `No ${kind}s\n`;
  const current = (object: unknown) => listOf(object, "keys").at(-1);
  return tableOfJson(
    [
      ["ID", "id"],
      ["NAME", "name"],
      ...kind === "team" ? [] : [["TEAM", "team"]] as const,
      ...kind === "key"
        ? [
          ["USER", "user"],
          ["KEY", (object: unknown) => `${textOf(current(object), "prefix")}…`],
          ["EXPIRES", "expiresAt"],
        ] as const
        : [],
      ["STATUS", "status"],
      ["BUDGETS", (object) => listOf(object, "budgets").length || undefined],
      ["CREATED", (object) => textOf(object, "createdAt").slice(0, 10)],
    ],
    objects,
    "-",
  );
}
