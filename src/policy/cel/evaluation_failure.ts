/** The error of an expression for a request. */
export class EvaluationFailure {
  /** Message for log and trace; it may quote the request. */
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }

  /**
   * Returns the message without values of the request; names in the expression stay.
   * @param expression Redacted text of the expression.
   */
  withoutValues(expression: string): string {
    const [, name] = /^field not found: (.*)$/s.exec(this.message) ?? [];
    if (name !== undefined && expression.includes(name)) return this.message;
    return typesOnly.test(this.message) ? this.message : "it has no value";
  }
}

/** Matches messages with types but no values: those of the library, then those of the gateway. */
const typesOnly =
  /^(?:found no matching overload for|type mismatch:|a variable has|expected a boolean, got|expected a string or bytes|there is an object|the (?:body|string|value) (?:is|has) |the expression takes |the claims are)/;

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

/**
 * Comparisons of a string of which only the beginning is known, by the operator that they stand in for. They throw the error of unknown
 * inputs when the rest of the string matters.
 */
export const prefixFunctions: Readonly<
  Record<string, (prefix: string, operand: readonly string[]) => boolean>
> = {
  startsWith: (prefix, texts) =>
    texts.some((text) => prefix.startsWith(text)) || isPossible(prefix, texts),
  "_==_": isPossible,
  "@in": isPossible,
};

/** Returns the name of the function in place of an operator; authors cannot write it. */
export function prefixFunctionName(operator: string): string {
  return `@prefix ${operator}`;
}

/** Returns false if none of the strings begins with the prefix. */
function isPossible(prefix: string, texts: readonly string[]): boolean {
  return texts.some((text) => text.startsWith(prefix)) && readUnknown();
}
