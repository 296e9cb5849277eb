// @ts-types="./oidc_provider.d.ts"
import type { Adapter, AdapterPayload } from "oidc-provider";

/** Rows of all models of one authorization server, by model and id. */
export type MemoryStore = Map<string, AdapterPayload>;

/**
 * Keeps the rows of one model in `store`. The adapter of `oidc-provider` has one store for all servers of a process.
 * Expired rows stay, and `oidc-provider` rejects them: a playground needs no timer.
 */
export function createMemoryAdapter(
  store: MemoryStore,
  model: string,
): Adapter {
  const keyOf = (id: string) => `${model}:${id}`;
  const findBy = (field: "uid" | "userCode", value: string) =>
    Promise.resolve(
      [...store].find(([key, row]) =>
        key.startsWith(keyOf("")) && row[field] === value
      )?.[1],
    );
  return {
    async upsert(id, row) {
      await Promise.resolve(store.set(keyOf(id), row));
    },
    find: (id) => Promise.resolve(store.get(keyOf(id))),
    findByUid: (uid) => findBy("uid", uid),
    findByUserCode: (userCode) => findBy("userCode", userCode),
    async consume(id) {
      const row = store.get(keyOf(id));
      // Any truthy value marks a code as used.
      if (row !== undefined) row.consumed = true;
      await Promise.resolve();
    },
    async destroy(id) {
      await Promise.resolve(store.delete(keyOf(id)));
    },
    async revokeByGrantId(grantId) {
      for (const [key, row] of store) {
        if (key.startsWith(keyOf("")) && row.grantId === grantId) {
          store.delete(key);
        }
      }
      await Promise.resolve();
    },
  };
}
