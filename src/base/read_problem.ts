import { describeError } from "./errors.ts";

/** Why a file could not be read, or what it holds not be used. */
export function describeReadProblem(error: unknown): string {
  return error instanceof Deno.errors.NotFound
    ? "no such file"
    : describeError(error);
}
