import { systemClock } from "../../../src/base/clock.ts";
import { EXPECTED_BUDGET, parseBudget } from "../../../src/api/budget_text.ts";
import { UsageError } from "../../process/exit.ts";

/** Options that set fields of keys, users and teams. */
export interface FieldOptions {
  readonly name?: string;
  readonly team?: string;
  readonly user?: string;
  readonly model?: readonly string[];
  readonly tool?: readonly string[];
  readonly mcpServer?: readonly string[];
  readonly route?: readonly string[];
  readonly address?: readonly string[];
  readonly budget?: readonly string[];
  readonly notifyAt?: string;
  readonly metadata?: readonly string[];
  readonly expires?: string;
  /** Keys that a user of the team may make. */
  readonly selfServiceKeys?: number;
  readonly selfServiceLifetime?: string;
  readonly selfServiceBudget?: readonly string[];
}

/** Converts options to fields; only those that are given. @throws {UsageError} */
export function readFields(
  options: FieldOptions,
): Readonly<Record<string, unknown>> {
  const { name, team, user, budget, metadata, expires } = options;
  const allow = withoutAbsent({
    models: options.model,
    tools: options.tool,
    mcpServers: options.mcpServer,
    routes: options.route,
    addresses: options.address,
  });
  return withoutAbsent({
    name,
    team,
    user,
    allow: Object.keys(allow).length === 0 ? undefined : allow,
    budgets: budget?.map((text) => readBudget(text, options.notifyAt)),
    metadata: metadata && Object.fromEntries(metadata.map(readPair)),
    selfService: readSelfService(options),
    expiresAt: expires === undefined
      ? undefined
      : readTime(expires, systemClock.now()),
  });
}

/** Without a number of keys, an update leaves self-service as it is; 0 ends it. @throws {UsageError} */
function readSelfService({
  selfServiceKeys: maxKeys,
  selfServiceLifetime: maxLifetime,
  selfServiceBudget: budgets,
}: FieldOptions) {
  if (maxKeys === undefined) {
    if (maxLifetime === undefined && budgets === undefined) return undefined;
    throw new UsageError('"--self-service-keys" is required');
  }
  if (maxKeys === 0) return null;
  return withoutAbsent({
    maxKeys,
    maxLifetime: maxLifetime ?? "720h",
    budgets: budgets?.map((text) => readBudget(text, undefined)),
  });
}

/** Reads `50usd/month`. */
function readBudget(text: string, notifyAt: string | undefined) {
  const budget = parseBudget(text);
  if (budget === undefined) {
    throw new UsageError(
      `Invalid budget "${text}": expected ${EXPECTED_BUDGET}`,
    );
  }
  return {
    ...budget,
    ...notifyAt !== undefined && {
      notifyAt: notifyAt.split(",").map(Number),
    },
  };
}

function readPair(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new UsageError(`Invalid metadata "${text}": expected name=value`);
}

const DAY_MS = 86_400_000;
const lengths = { h: DAY_MS / 24, d: DAY_MS } as const;

/** Reads `90d`, `12h` or an RFC 3339 time. */
function readTime(text: string, now: number): string {
  const [, amount, unit] = /^([0-9]{1,5})(h|d)$/.exec(text) ?? [];
  if (amount === undefined) return text;
  const length = unit === "h" ? lengths.h : lengths.d;
  return new Date(now + Number(amount) * length).toISOString();
}

function withoutAbsent(
  fields: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  );
}
