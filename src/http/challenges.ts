/** A challenge of `WWW-Authenticate` (RFC 9110 section 11.6.1). */
export interface Challenge {
  /** In lower case, as `bearer`. */
  readonly scheme: string;
  /** By names in lower case; the first of several with one name. */
  readonly parameters: ReadonlyMap<string, string>;
}

const MAX_LENGTH = 4096;
const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const separators = /[\s,]*/y;
const spaces = / */y;
const parameter = new RegExp(
  `(${TOKEN})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\[^])*)"|(${TOKEN}))`,
  "y",
);
const scheme = new RegExp(`(${TOKEN})(?= |,|$)`, "y");
/** Follows a scheme in place of parameters. */
const token68 = /[\w.~+/-]+=*(?=\s*(?:,|$))/y;
const unreadable = /(?:"(?:[^"\\]|\\[^])*"|[^\s,"])+/y;

/** Parses the challenges of a response; leaves out what follows an error of their syntax. Commas between parameters may be missing. */
export function parseChallenges(field: string): readonly Challenge[] {
  const challenges: {
    readonly scheme: string;
    readonly parameters: Map<string, string>;
  }[] = [];
  let at = 0;
  const next = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const match = pattern.exec(field);
    if (match !== null) at = pattern.lastIndex;
    return match;
  };
  for (next(separators); at < field.length; next(separators)) {
    const read = next(parameter);
    if (read !== null) {
      const [, name = "", quoted, plain = ""] = read;
      const value = quoted?.replace(/\\([^])/g, "$1") ?? plain;
      challenges.at(-1)?.parameters.getOrInsert(name.toLowerCase(), value);
      continue;
    }
    const named = next(scheme)?.[1];
    if (named !== undefined) {
      challenges.push({ scheme: named.toLowerCase(), parameters: new Map() });
      next(spaces);
      next(token68);
    } else if (next(unreadable) === null) break;
  }
  return challenges;
}

/**
 * Returns a parameter of the first challenge that has it; `undefined` if it is empty or too long.
 * @param name In lower case.
 */
export function parameterOf(
  challenges: readonly Challenge[],
  name: string,
  maxLength: number = MAX_LENGTH,
): string | undefined {
  const value = challenges.find(({ parameters }) => parameters.has(name))
    ?.parameters.get(name);
  return value === "" || (value?.length ?? 0) > maxLength ? undefined : value;
}
