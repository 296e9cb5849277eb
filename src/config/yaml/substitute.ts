/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A string with its `${NAME}` references replaced. */
export interface Substitution {
  readonly text: string;
  /** Variables whose values the string now contains. */
  readonly used: readonly string[];
  /** Problems: variables that are not set, unterminated references. */
  readonly errors: readonly string[];
}

const reference =
  /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{[^}]*\}?/g;

/** Names of variables that hold secrets, for which no default is suggested. */
const secretName = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i;

/**
 * Replaces `${NAME}` and `${NAME:-default}`; `$${` yields a literal `${`.
 * The default also replaces a variable that is set but empty.
 */
export function substitute(
  text: string,
  environment: Environment,
): Substitution {
  const used: string[] = [];
  const errors: string[] = [];
  const result = text.replace(
    reference,
    (whole: string, name?: string, fallback?: string) => {
      if (whole === "$${") return "${";
      if (name === undefined) {
        errors.push(
          `invalid reference "${whole}", expected "\${NAME}" or "\${NAME:-default}"; ` +
            `write "$\${" for a literal "\${"`,
        );
        return whole;
      }
      const value = environment[name];
      if (
        fallback !== undefined && (value === undefined || value === "")
      ) return fallback;
      if (value === undefined) {
        errors.push(
          `environment variable "${name}" is not set; ` +
            (secretName.test(name)
              ? "set it"
              : `set it or provide a default as in "\${${name}:-default}"`),
        );
        return whole;
      }
      used.push(name);
      return value;
    },
  );
  return { text: result, used, errors };
}
