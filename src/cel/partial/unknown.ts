/** Result of an expression that depends on inputs which are not known. */
export const UNKNOWN = Symbol("unknown");

/** The function that stands in place of inputs which are not known; authors cannot write its name. */
export const UNKNOWN_FUNCTION = "@unknown";

/** The error of an unknown input. `&&`, `||` and macros treat errors as CEL treats unknown values: `false && error` is false. */
export function readUnknown(): never {
  throw new TypeError(UNKNOWN_FUNCTION);
}

/** Reports whether an error stems from an unknown input, alone or merged with others. */
export function isUnknown(error: unknown): boolean {
  if (Array.isArray(error)) return error.some(isUnknown);
  if (!(error instanceof Error)) return false;
  return error.message === UNKNOWN_FUNCTION || isUnknown(error.cause);
}
