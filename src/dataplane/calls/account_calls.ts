import type { ConnectionSelection } from "../../identity/connections/admin_connections.ts";
import type { VaultId } from "../../identity/vault/vault_seal.ts";
import { define } from "./data_plane_call.ts";
import type { TrafficThread } from "./traffic_thread.ts";

/** Calls about the connections of users at services; results are `undefined` without `config.connections`. All reject when the store fails. */
export const accountCalls = {
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
    run: ({ accounts }: TrafficThread, key: VaultId) => accounts?.end(key),
    merge: (results) =>
      results.map(({ part }) => part).find((part) => part !== undefined),
  }),
};
