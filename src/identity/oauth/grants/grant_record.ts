import { readMembers } from "../../../base/json/decode_members.ts";

/** Identifies the grant of a login. */
export interface GrantId {
  /** ID of the code that was redeemed for it: 32 hexadecimal digits. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** A grant for admins and its user, without tokens. */
export interface GrantRecord extends GrantId {
  /** Issuer and subject of the user. */
  readonly issuer: string;
  readonly subject: string;
  /** URL of the client's metadata document, or the name that it registered with. */
  readonly client: string;
  /** URL of the MCP server. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** When the client got its latest token, in milliseconds since the epoch. */
  readonly usedAt: number;
}

/** Grants to list or to end; fields that are not set select all. */
export interface GrantSelection {
  readonly id?: string | undefined;
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly client?: string | undefined;
  readonly resource?: string | undefined;
}

/** Returns the grants that a selection names. */
export function selectGrants(
  grants: readonly GrantRecord[],
  selection: GrantSelection,
): readonly GrantRecord[] {
  const { id, issuer, subject, client, resource } = selection;
  return grants.filter((grant) =>
    (id === undefined || grant.id === id) &&
    (issuer === undefined || grant.issuer === issuer) &&
    (subject === undefined || grant.subject === subject) &&
    (client === undefined || grant.client === client) &&
    (resource === undefined || grant.resource === resource)
  );
}

/** Reads a record from a store; `undefined` for anything else. */
export function readGrantRecord(value: unknown): GrantRecord | undefined {
  return readMembers(value, {
    id: "string",
    issuer: "string",
    subject: "string",
    client: "string",
    resource: "string",
    startedAt: "number",
    usedAt: "number",
    scopes: "strings",
  });
}
