import type { UsageRow } from "../../telemetry/traffic/usage_table.ts";
import { teamOf } from "../../policy/keys/key_caller.ts";
import type { Keyring } from "./keyring.ts";

/** Use of a key, and whose key it is now; empty for clients without a key of the store. */
export interface OwnedUsage extends UsageRow {
  readonly user: string;
  readonly team: string;
}

/** Adds the user and the team of each key in the store, also of revoked ones. */
export async function withOwners(
  rows: readonly UsageRow[],
  keyring: Keyring | undefined,
): Promise<readonly OwnedUsage[]> {
  const table = rows.length === 0 ? undefined : await keyring?.table();
  const owners = new Map<string, Pick<OwnedUsage, "user" | "team">>();
  const ownerOf = (id: string) => {
    const key = table?.find("key", id);
    if (key === undefined) return { user: "", team: "" };
    const { user = "" } = key;
    const owner = user === "" ? undefined : table?.find("user", user);
    return { user, team: teamOf(key, owner) ?? "" };
  };
  return rows.map((row) => ({
    ...row,
    ...owners.getOrInsertComputed(row.key, ownerOf),
  }));
}
