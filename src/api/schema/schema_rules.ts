/** A condition on a whole value, with its error message. */
export interface Rule<T> {
  readonly holds: (value: T) => boolean;
  readonly message: (value: T) => string;
  /** Path from the value to the invalid part. */
  readonly at: (value: T) => readonly (string | number)[];
}

/**
 * Creates a rule. `message` is complete; one that begins with `expected` gets the actual value appended. `at` leads to the
 * invalid part; by default, it is the whole value.
 */
export function rule<T>(
  holds: (value: T) => boolean,
  message: string | ((value: T) => string),
  at:
    | readonly (string | number)[]
    | ((value: T) => readonly (string | number)[]) = [],
): Rule<T> {
  return {
    holds,
    message: typeof message === "string" ? () => message : message,
    at: typeof at === "function" ? at : () => at,
  };
}

/** Requires exactly one of `names` in the mapping. */
export function exactlyOne(...names: readonly string[]): Rule<object> {
  return rule<object>(
    (value) => present(value, names).length === 1,
    (value) => {
      const found = present(value, names);
      return found.length === 0
        ? `${quoted(names, "or")} is required`
        : notTogether(found);
    },
  );
}

/** Requires at most one of `names` in the mapping. */
export function atMostOne(...names: readonly string[]): Rule<object> {
  return rule<object>(
    (value) => present(value, names).length <= 1,
    (value) => notTogether(present(value, names)),
  );
}

/** Requires at least one of `names` in the mapping. */
export function atLeastOne(...names: readonly string[]): Rule<object> {
  return rule<object>(
    (value) => present(value, names).length > 0,
    `${quoted(names, "or")} is required`,
  );
}

/** Requires both or neither of `first` and `second` in the mapping. */
export function bothOrNeither(first: string, second: string): Rule<object> {
  return rule<object>(
    (value) => present(value, [first, second]).length !== 1,
    (value) => {
      const [given] = present(value, [first, second]);
      return `"${given}" requires "${given === first ? second : first}"`;
    },
  );
}

/** Requires items with distinct keys; messages call the key `noun`. */
export function unique<T>(
  keyOf: (item: T, index: number) => string | number,
  noun: string,
): Rule<readonly T[]> {
  const repeated = (items: readonly T[]) => {
    const keys = items.map(keyOf);
    return keys.findIndex((key, index) => keys.indexOf(key) < index);
  };
  return rule<readonly T[]>(
    (items) => repeated(items) < 0,
    (items) => {
      const index = repeated(items);
      const item = items[index];
      return `${noun}${
        item === undefined ? "" : ` ${JSON.stringify(keyOf(item, index))}`
      } appears twice`;
    },
    (items) => [repeated(items)],
  );
}

function present(value: object, names: readonly string[]): readonly string[] {
  return names.filter((name) => Object.hasOwn(value, name));
}

function notTogether(names: readonly string[]): string {
  return `${quoted(names, "and")} cannot be used together`;
}

function quoted(names: readonly string[], conjunction: string): string {
  const all = names.map((name) => JSON.stringify(name));
  const last = all.at(-1) ?? "";
  return all.length < 2
    ? last
    : `${all.slice(0, -1).join(", ")} ${conjunction} ${last}`;
}
