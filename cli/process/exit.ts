/** Exit codes of the process; `--help` lists them. */
export const exitCodes = { ok: 0, failure: 1, usage: 2 } as const;

/** Ends the command with exit code 1; the message is for the user. */
export class Failure extends Error {
  override readonly name = "Failure";
}

/** Ends the command with exit code 2 because of wrong usage. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
