import { describeReadError } from "../../base/regular_file.ts";
import { type SecretAccess, UnusableReferenceError } from "./policy_kind.ts";

/** Returns why a secret cannot be used; `undefined` if `read` returns. @param what Names it. */
export function secretProblem(
  read: () => unknown,
  what = "secret",
): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return `Cannot use the ${what}: ${describeReadError(error)}`;
  }
}

/** Reads files where a configuration names none. @throws {TypeError} */
export function noFiles(path: string): string {
  throw new TypeError(`no file "${path}" here`);
}

/** Reads Secrets where a configuration names none. */
export const noSecrets: SecretAccess = {
  readSecret({ name }) {
    throw new UnusableReferenceError(`no Secret "${name}" here`);
  },
};
