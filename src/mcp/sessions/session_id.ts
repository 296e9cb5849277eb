import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../base/json.ts";
import { readMembers } from "../../base/json/decode_members.ts";
import type { Seal } from "../../base/sealed_values.ts";
import type { ServerSession } from "../servers/server_connection.ts";
import type { McpSealPurpose } from "../clients/list_cursors.ts";

/** Content of a session id, with which every process that has the secret can continue the session. */
export interface SessionFacts {
  /** Makes the id unguessable, and names the session in this process. */
  readonly nonce: string;
  /** Identity of the client that began the session; nobody else may use it. */
  readonly user: string;
  readonly revision: string;
  readonly capabilities: JsonObject;
  /** Sessions at the servers, by name. */
  readonly servers: Readonly<Record<string, ServerSession>>;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
  /** Number of the worker that has the state of the session. */
  readonly worker: number;
}

/** Proxies limit header fields to 8 KB; servers beyond that get new sessions after a restart. */
const MAX_SERVERS_LENGTH = 4096;
const MAX_AGE_MS = 7 * 24 * 3_600_000;

/** Returns a nonce for a new session. */
export function newNonce(): string {
  return randomBytes(16).toString("base64url");
}

/** Writes the id of a session. */
export function sealSession(
  seal: Seal<McpSealPurpose>,
  facts: SessionFacts,
): string {
  const { servers, ...rest } = facts;
  let length = 0;
  const kept = Object.entries(servers).filter(([name, session]) => {
    length += name.length + session.id.length + 48;
    return length <= MAX_SERVERS_LENGTH;
  });
  return seal.seal("session", { ...rest, servers: Object.fromEntries(kept) });
}

/** Reports whether nobody may use a session any more. */
export function isTooOld(
  { beganAt }: Pick<SessionFacts, "beganAt">,
  now: number,
): boolean {
  return now - beganAt > MAX_AGE_MS;
}

/** Reads the id of a session; `undefined` if it is none, or too old. */
export function openSession(
  seal: Seal<McpSealPurpose>,
  id: string,
  now: number,
): SessionFacts | undefined {
  const facts = readMembers(seal.open("session", id), {
    nonce: "string",
    user: "string",
    revision: "string",
    capabilities: "object",
    servers: "object",
    beganAt: "number",
    worker: "number",
  });
  if (facts === undefined || isTooOld(facts, now)) return undefined;
  const known = Object.entries(facts.servers).flatMap(([name, value]) => {
    const session = readMembers(value, { id: "string", revision: "string" });
    return session === undefined ? [] : [[name, session] as const];
  });
  return { ...facts, servers: Object.fromEntries(known) };
}
