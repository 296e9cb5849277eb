/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A text with its `${NAME}` references replaced. */
export interface Substitution {
  readonly text: string;
  /** Names whose values the text now holds. */
  readonly used: readonly string[];
  /** What is wrong: names that are not set, references that do not end. */
  readonly errors: readonly string[];
}

const reference =
  /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{[^}]*\}?/g;

/**
 * Replaces `${NAME}` and `${NAME:-default}`; `$${` stands for a literal `${`.
 * The default also stands in for a variable that is set but empty.
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
            `set it or give a default as in "\${${name}:-default}"`,
        );
        return whole;
      }
      used.push(name);
      return value;
    },
  );
  return { text: result, used, errors };
}
