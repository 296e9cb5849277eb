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
