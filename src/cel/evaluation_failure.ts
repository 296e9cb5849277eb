/** Why an expression has no value for a request. */
export class EvaluationFailure {
  /** For log and trace: it may quote the request. */
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }

  /**
   * The message for those who must not see values of the request; names that stand in the expression stay.
   * @param expression As it is shown: what is hidden there is hidden here.
   */
  withoutValues(expression: string): string {
    const [, name] = /^field not found: (.*)$/s.exec(this.message) ?? [];
    if (name !== undefined && expression.includes(name)) return this.message;
    return typesOnly.test(this.message) ? this.message : "it has no value";
  }
}

/** Messages that name types and never values: the library's, then our own. */
const typesOnly =
  /^(?:found no matching overload for|type mismatch:|a variable has|expected a boolean, got|expected a text or bytes|there is an object|the (?:body|text|value) is |the expression takes |the claims are)/;
