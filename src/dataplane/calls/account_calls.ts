import type { KeptChanges } from "../../identity/connections/account_changes.ts";
import type { ConnectionSelection } from "../../identity/connections/admin_connections.ts";
import type { SealedConnection } from "../../identity/connections/connection_index.ts";
import type { VaultId } from "../../identity/vault/vault_seal.ts";
import { define } from "./data_plane_call.ts";
import type { TrafficThread } from "./traffic_thread.ts";

/** Calls about the connections of users at services; results are `undefined` without `config.connections`. All reject when the store fails. */
export const accountCalls = {
  /** Returns what users have changed on the pages, newest first. */
  accountChanges: define({
    run: ({ accounts }: TrafficThread): KeptChanges =>
      accounts?.changes() ?? { changes: [], omitted: 0 },
    merge: (results) => mergeChanges(results.map(({ part }) => part)),
  }),
  /** Lists connections, without tokens. */
  userConnections: define({
    threads: "one",
    run: ({ accounts }: TrafficThread, selection: ConnectionSelection) =>
      accounts?.list(selection),
    merge: ([first]) => first?.part,
  }),
  /** Returns what `endUserConnection` needs of the connection with an ID; `undefined` without one. */
  findUserConnection: define({
    threads: "one",
    run: ({ accounts }: TrafficThread, id: string) => accounts?.find(id),
    merge: ([first]) => first?.part,
  }),
  /** Ends a connection: one thread removes it, and all of them forget its token. Returns `undefined` without one. */
  endUserConnection: define({
    run: (
      { accounts }: TrafficThread,
      key: VaultId | SealedConnection,
    ) => accounts?.end(key),
    merge: (results) =>
      results.map(({ part }) => part).find((part) => part !== undefined),
  }),
};

/** Merges lists of changes into one, newest first. */
export function mergeChanges<Change extends { readonly at: string }>(
  lists: readonly {
    readonly changes: readonly Change[];
    readonly omitted: number;
  }[],
): { readonly changes: readonly Change[]; readonly omitted: number } {
  const changes = lists.flatMap(({ changes }) => changes)
    .sort((one, other) => other.at < one.at ? -1 : other.at > one.at ? 1 : 0);
  const omitted = lists.reduce((sum, list) => sum + list.omitted, 0);
  return { changes, omitted };
}
