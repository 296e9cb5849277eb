/** Something that must hold for a whole value, and what to say when it does not. */
export interface Rule<T> {
  readonly holds: (value: T) => boolean;
  readonly message: (value: T) => string;
  /** Way from the value to the part at fault; the whole value when left out. */
  readonly at: (value: T) => readonly (string | number)[];
}

/**
 * A rule about a whole value. `message` is what is wrong, in full; one that begins with `expected` is followed
 * by the value found. `at` is the way to the part at fault.
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

/** Exactly one of `names` is present in the mapping. */
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

/** At most one of `names` is present in the mapping. */
export function atMostOne(...names: readonly string[]): Rule<object> {
  return rule<object>(
    (value) => present(value, names).length <= 1,
    (value) => notTogether(present(value, names)),
  );
}

/** At least one of `names` is present in the mapping. */
export function atLeastOne(...names: readonly string[]): Rule<object> {
  return rule<object>(
    (value) => present(value, names).length > 0,
    `${quoted(names, "or")} is required`,
  );
}

/** `first` and `second` are both present in the mapping, or neither is. */
export function bothOrNeither(first: string, second: string): Rule<object> {
  return rule<object>(
    (value) => present(value, [first, second]).length !== 1,
    (value) => {
      const [given] = present(value, [first, second]);
      return `"${given}" needs "${given === first ? second : first}"`;
    },
  );
}

/** No two items of a list share a key, which is called `what`. */
export function unique<T>(
  keyOf: (item: T) => string,
  what: string,
): Rule<readonly T[]> {
  const repeated = (items: readonly T[]) => {
    const keys = items.map(keyOf);
    return keys.findIndex((key, index) => keys.indexOf(key) < index);
  };
  return rule<readonly T[]>(
    (items) => repeated(items) < 0,
    (items) => {
      const item = items[repeated(items)];
      return `${what}${
        item === undefined ? "" : ` ${JSON.stringify(keyOf(item))}`
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
