import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { VERSION } from "../../base/version.ts";

/** The era of a peer: `legacy` has `initialize` and sessions (up to 2025-11-25), `modern` self-contained requests (from 2026-07-28). */
export type Era = "legacy" | "modern";

/** The newest revision with self-contained requests that the gateway speaks. */
export const MODERN_REVISION = "2026-07-28";
/** The newest revision with sessions that the gateway speaks. */
export const LEGACY_REVISION = "2025-11-25";

/** Revisions with self-contained requests. */
export const modernRevisions: ReadonlySet<string> = new Set([MODERN_REVISION]);

/** Revisions with sessions, the newest first. */
export const legacyRevisions: readonly string[] = [
  LEGACY_REVISION,
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
];

/** All revisions, the newest first. */
export const supportedRevisions: readonly string[] = [
  ...modernRevisions,
  ...legacyRevisions,
];

const PREFIX = "io.modelcontextprotocol/";

/** Members of `_meta` that belong to one connection. */
export const META = {
  VERSION: `${PREFIX}protocolVersion`,
  CLIENT_INFO: `${PREFIX}clientInfo`,
  CLIENT_CAPABILITIES: `${PREFIX}clientCapabilities`,
  SERVER_INFO: `${PREFIX}serverInfo`,
  LOG_LEVEL: `${PREFIX}logLevel`,
  SUBSCRIPTION: `${PREFIX}subscriptionId`,
  /** Of revisions before 2026-07-28: names a task, wherever it goes. */
  RELATED_TASK: `${PREFIX}related-task`,
} as const;

/** Extension for tasks of 2026-07-28; before, tasks were part of the protocol. */
export const TASKS_EXTENSION = `${PREFIX}tasks`;

/** The gateway, as its clients and its servers see it. */
export const gatewayInfo = { name: "gateway", version: VERSION } as const;

/** Returns `_meta` of parameters or a result; empty without one. */
export function metaOf(object: JsonObject): JsonObject {
  const meta = object["_meta"];
  return isJsonObject(meta) ? meta : {};
}

const noMeta: JsonObject = {};

/** Returns the members of `_meta` that are meant for the other end: those of the connection stay behind. */
export function passingMeta(object: JsonObject): JsonObject {
  if (object["_meta"] === undefined) return noMeta;
  return Object.fromEntries(
    Object.entries(metaOf(object)).filter(([name]) =>
      name !== "progressToken" && !name.startsWith(PREFIX)
    ),
  );
}

/** Returns an object with another `_meta`; without one if that is empty. */
export function withMeta(object: JsonObject, meta: JsonObject): JsonObject {
  const { _meta: _, ...rest } = object;
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest;
}

/** Log levels of MCP (RFC 5424 section 6.2.1), the least severe first. */
const levels: readonly string[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

/** Reports whether a value is a log level. */
export function isLogLevel(value: unknown): value is string {
  return typeof value === "string" && levels.includes(value);
}

/** Reports whether a message of a level is wanted by a client that requested another. */
export function isAtLeast(level: unknown, wanted: string): boolean {
  return typeof level === "string" &&
    levels.indexOf(level) >= levels.indexOf(wanted);
}
