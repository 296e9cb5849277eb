/** Hashes of OpenBSD's bcrypt, which are slow to compute on purpose. */

/** Highest accepted cost: about 50 ms, during which nothing else runs. */
export const MAX_BCRYPT_COST = 10;

const bcryptHash = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/** Returns the cost of a hash such as `$2y$05$…`; `undefined` if it is not a bcrypt hash. */
export function bcryptCost(hash: string): number | undefined {
  const cost = bcryptHash.exec(hash)?.[1];
  return cost === undefined ? undefined : Number(cost);
}

/** Reports whether the password matches the hash. Passwords over 72 bytes never match: bcrypt ignores the rest. */
export async function matchesBcrypt(
  password: string,
  hash: string,
): Promise<boolean> {
  // Loaded for the first password: most gateways check none, so it must not slow down the start.
  const { compare, truncates } = await import("bcryptjs");
  return !truncates(password) && await compare(password, hash);
}
