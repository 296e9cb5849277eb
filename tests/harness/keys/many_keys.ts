import { createHash } from "node:crypto";
import { KeyringTable } from "../../../src/dataplane/keyring/keyring_table.ts";

const TEAMS = 500;

/** Returns a table of the keys of 500 teams, as processes have it in memory. */
export function manyKeys(count: number) {
  const table = new KeyringTable();
  let sequence = 0;
  const common = () => ({
    sequence: ++sequence,
    createdAt: 0,
    changedAt: 0,
  });
  for (let team = 0; team < TEAMS; team++) {
    table.set({ ...common(), kind: "team", id: `team-${team}` });
  }
  const hashOf = (index: number) =>
    createHash("sha256").update(`key ${index}`).digest();
  for (let index = 0; index < count; index++) {
    const hash = hashOf(index).toString("base64url");
    table.set({
      ...common(),
      ...{ kind: "key", id: `key_${index}`, team: `team-${index % TEAMS}` },
      allow: { models: ["gpt-4o*"] },
      budgets: [{ requests: 100, unit: "Minutes" }],
      metadata: { tier: "gold" },
      secrets: [{ hash, prefix: "gk_1234567", createdAt: 0 }],
    });
  }
  table.setState("current");
  table.publish();
  return {
    table,
    /** Returns the digest of a key in hexadecimal. */
    digestOf: (index: number) => hashOf(index).toString("hex"),
  };
}
