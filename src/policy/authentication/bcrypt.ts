/** Password hashes of OpenBSD's bcrypt, which are slow to compute on purpose. */

/** Highest cost that is computed: some 50 ms, for which nothing else runs. */
export const MAX_BCRYPT_COST = 10;

const bcryptHash = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/** The cost of a hash such as `$2y$05$…`; `undefined` for what is no bcrypt hash. */
export function bcryptCost(hash: string): number | undefined {
  const cost = bcryptHash.exec(hash)?.[1];
  return cost === undefined ? undefined : Number(cost);
}

/** Reports whether the password matches the hash. Passwords over 72 bytes never match: bcrypt ignores the rest. */
export async function matchesBcrypt(
  password: string,
  hash: string,
): Promise<boolean> {
  // Loaded with the first password: most gateways check none, and all should start fast.
  const { compare, truncates } = await import("bcryptjs");
  return !truncates(password) && await compare(password, hash);
}
