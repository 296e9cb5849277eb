import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { Failure } from "../../process/exit.ts";
import type { ImportNote } from "../parts/source_node.ts";
import { windowOf } from "./litellm_deployments.ts";
import { readRows, type Row } from "./litellm_rows.ts";

/** An object to create in the store, with its line in the file. */
export interface KeyTableObject {
  readonly kind: "team" | "user" | "key";
  readonly fields: JsonObject;
  readonly line: number;
  /** Only other rows name this owner: the store may have it already. */
  readonly isImplied?: true;
}

/** The objects of a table, owners first, and what could not be taken over. */
export interface KeyTable {
  readonly objects: readonly KeyTableObject[];
  readonly notes: readonly ImportNote[];
}

/** Columns with restrictions that have no counterpart: a key without them could do more. */
const restrictions = [
  "allowed_routes",
  "blocked",
  "max_parallel_requests",
  "model_max_budget",
  "object_permission_id",
  "organization_id",
  "permissions",
] as const;
/** Members of the metadata with restrictions that have no counterpart. */
const metadataRestrictions = ["model_rpm_limit", "model_tpm_limit"];
/** Columns with restrictions that are taken over, if they have this form. */
const forms: Readonly<Record<string, (value: unknown) => boolean>> = {
  models: Array.isArray,
  metadata: isJsonObject,
  expires: (value) => typeof value === "string",
  tpm_limit: isNumber,
  rpm_limit: isNumber,
  max_budget: isNumber,
};
/** Names of models that stand for all that are allowed elsewhere. */
const everything = new Set(["all-team-models", "all-proxy-models", "*"]);

/**
 * Reads keys and teams of LiteLLM: rows of its tables, or what `/key/list?return_full_object=true` and `/team/list` return, as JSON or CSV.
 * A key with a restriction that has no counterpart is left out.
 * @throws {Failure} When it has no rows.
 */
export function readKeyTable(name: string, text: string): KeyTable {
  const notes: ImportNote[] = [];
  const rows = readRows(name, text, notes);
  if (!rows.some(({ values }) => "token" in values || "team_id" in values)) {
    throw new Failure(
      `Cannot import "${name}": expected rows with "token" or "team_id", as JSON or CSV`,
    );
  }
  const isTeam = ({ values }: Row) => textOf(values["token"]) === undefined;
  const lost = new Set<string>();
  const teams = rows.filter(isTeam).flatMap((row) => teamOf(row, lost));
  const keys = rows.filter((row) => !isTeam(row))
    .flatMap((row) => keyOf(row, lost));
  return { objects: withOwners([...teams, ...keys]), notes };
}

/** @param lost Gets the teams that are left out. */
function teamOf(row: Row, lost: Set<string>): readonly KeyTableObject[] {
  const id = idOf(row, "team_id");
  const common = commonOf(row, row.values["team_alias"]);
  if (id === undefined) return [];
  if (common === undefined) {
    lost.add(id);
    return [];
  }
  return [{ kind: "team", line: row.line, fields: { id, ...common } }];
}

/** @param lost Teams that are left out: without their restrictions, keys could do more. */
function keyOf(
  row: Row,
  lost: ReadonlySet<string>,
): readonly KeyTableObject[] {
  const { values, line, note } = row;
  const token = textOf(values["token"]) ?? "";
  const digest = /^[0-9a-f]{64}$/.test(token)
    ? token
    : token.startsWith("sk-")
    ? createHash("sha256").update(token).digest("hex")
    : undefined;
  if (digest === undefined) {
    note("token: expected a SHA-256 digest or a key that begins with sk-");
    return [];
  }
  const common = commonOf(row, values["key_alias"] ?? values["key_name"]);
  if (common === undefined) return [];
  const expires = textOf(values["expires"]);
  const expiresAt = expires === undefined ? Number.NaN : Date.parse(
    /[zZ]|[+-]\d\d(:?\d\d)?$/.test(expires) ? expires : `${expires}Z`,
  );
  if (expires !== undefined && !Number.isFinite(expiresAt)) {
    note(`expires: expected a time, got "${expires}"; the key is left out`);
    return [];
  }
  const team = idOf(row, "team_id");
  const user = idOf(row, "user_id");
  const isOwned = (id: string | undefined, column: string) =>
    id !== undefined || !isSet(values[column]);
  if (
    team !== undefined && lost.has(team) || !isOwned(team, "team_id") ||
    !isOwned(user, "user_id")
  ) {
    note("the key is left out, as its owner is");
    return [];
  }
  return [{
    kind: "key",
    line,
    fields: {
      // The same row is not imported twice.
      id: `litellm_${digest.slice(0, 16)}`,
      ...common,
      ...team !== undefined && { team },
      ...user !== undefined && { user },
      ...expires !== undefined &&
        { expiresAt: new Date(expiresAt).toISOString() },
      keyHash: `sha256:${digest}`,
    },
  }];
}

/** Returns what keys and teams have; `undefined` if a restriction has no counterpart. */
function commonOf(row: Row, alias: unknown): JsonObject | undefined {
  const { values, note } = row;
  const metadata = isJsonObject(values["metadata"]) ? values["metadata"] : {};
  const lost = [
    ...restrictions.filter((name) => isSet(values[name])),
    ...metadataRestrictions.filter((name) => isSet(metadata[name])),
  ];
  for (const name of lost) note(`${name}: no counterpart; the row is left out`);
  const wrong = Object.entries(forms)
    .filter(([name, has]) => isSet(values[name]) && !has(values[name]));
  for (const [name] of wrong) note(`${name}: not valid; the row is left out`);
  const budgets = budgetsOf(row);
  if (lost.length + wrong.length > 0 || budgets === undefined) return undefined;
  const models = listOf(values["models"]).filter((each) =>
    !everything.has(each)
  );
  const name = textOf(alias)?.replaceAll(/\p{C}/gu, "").slice(0, 128);
  if (Number(values["spend"]) > 0 && budgets.length > 0) {
    note("spend: budgets begin unused");
  }
  return {
    ...name !== undefined && name !== "" && { name },
    ...models.length > 0 && { allow: { models } },
    ...budgets.length > 0 && { budgets },
    ...Object.keys(metadata).length > 0 && { metadata },
  };
}

/** Returns the budgets; `undefined` if one has no counterpart. */
function budgetsOf({ values, note }: Row): readonly JsonObject[] | undefined {
  const limits = [
    ["tpm_limit", "tokens"],
    ["rpm_limit", "requests"],
  ] as const;
  const none = ["tpm_limit", "rpm_limit", "max_budget"].find((column) =>
    isNumber(values[column]) && Number(values[column]) <= 0
  );
  if (none !== undefined) {
    note(`${none}: 0 allows no request; the row is left out`);
    return undefined;
  }
  const rates = limits.flatMap(([column, name]) =>
    isNumber(values[column])
      ? [{ [name]: Number(values[column]), unit: "Minutes" }]
      : []
  );
  const usd = values["max_budget"];
  if (!isNumber(usd)) return rates;
  const duration = textOf(values["budget_duration"]);
  const unit = windowOf(duration);
  if (unit === undefined) {
    note(
      `max_budget: no counterpart with the window ${
        duration ?? "without an end"
      }; the row is left out`,
    );
    return undefined;
  }
  return [...rates, { cost: { usd: Number(usd), unit } }];
}

/** Creates the owners that have no rows of their own, and puts owners first. */
function withOwners(
  objects: readonly KeyTableObject[],
): readonly KeyTableObject[] {
  const owners = (["team", "user"] as const).flatMap((kind) => {
    const known = new Set(
      objects.filter((each) => each.kind === kind)
        .map(({ fields }) => fields["id"]),
    );
    const named = objects.flatMap(({ fields, line }) =>
      typeof fields[kind] === "string" ? [{ id: fields[kind], line }] : []
    );
    return [
      ...objects.filter((each) => each.kind === kind),
      ...named.filter(({ id }) => !known.has(id) && known.add(id))
        .map(({ id, line }) => ({
          kind,
          line,
          fields: { id },
          isImplied: true as const,
        })),
    ];
  });
  return [...owners, ...objects.filter(({ kind }) => kind === "key")];
}

/** Returns an ID of the store: in lower case, and with - for other characters. */
function idOf({ values, note }: Row, column: string): string | undefined {
  const text = textOf(values[column]);
  if (text === undefined) return undefined;
  const id = text.toLowerCase().replaceAll(/[^a-z0-9_.-]/g, "-")
    .replace(/^[^a-z0-9]+/, "").slice(0, 63);
  if (id !== text) note(`${column}: "${text}" becomes "${id}"`);
  return id === "" ? undefined : id;
}

function isSet(value: unknown): boolean {
  if (isJsonObject(value)) return Object.keys(value).length > 0;
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function isNumber(value: unknown): boolean {
  return value !== null && value !== undefined && value !== "" &&
    Number.isFinite(Number(value));
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
