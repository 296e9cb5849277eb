/**
 * The vocabulary in which the resource schemas are written: valibot, plus strict objects that report
 * every unknown field and checks that say what they expected.
 */
import * as v from "valibot";

export {
  boolean,
  description,
  exactOptional as optional,
  literal,
  never as refused,
  nullable,
  objectWithRest,
  optional as withDefault,
  picklist as oneOf,
  pipe,
  record as map,
  safeParse,
  string,
  union,
  unknown,
  variant,
} from "valibot";
export type { BaseIssue, GenericSchema } from "valibot";

/** The type a schema accepts and returns, read-only all the way down. */
export type Infer<S extends v.GenericSchema> = DeepReadonly<v.InferOutput<S>>;

/** `T` with every property and list in it read-only. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
  : T;

/** A mapping with exactly these fields; unlike valibot's own it refuses lists and names every unknown field. */
export function object<const E extends v.ObjectEntries>(
  entries: E,
): v.StrictObjectSchema<E, undefined> {
  const known = Object.keys(entries);
  const fields = v.object(entries);
  return {
    ...v.strictObject(entries),
    "~run"(dataset, config) {
      const input = dataset.value;
      if (typeof input !== "object" || input === null || Array.isArray(input)) {
        v._addIssue(this, "type", dataset, config);
        return {
          typed: false,
          value: input,
          issues: dataset.issues ?? [],
        } as never;
      }
      const result = fields["~run"](dataset, config);
      for (const [key, value] of Object.entries(input)) {
        if (Object.hasOwn(entries, key)) continue;
        v._addIssue(this, "key", result, config, {
          input: key,
          expected: known.map((name) => JSON.stringify(name)).join(" | "),
          path: [{
            type: "object",
            origin: "key",
            input: { ...input },
            key,
            value,
          }],
        });
      }
      return result as never;
    },
  };
}

/** A list of `min` to `max` items. */
export function list<S extends v.GenericSchema>(
  item: S,
  { min = 0, max = 256 }: { readonly min?: number; readonly max?: number } = {},
) {
  return v.pipe(
    v.array(item),
    v.minLength(min, `expected at least ${count(min, "item")}`),
    v.maxLength(max, `expected at most ${count(max, "item")}`),
  );
}

/** A whole number within bounds that the message states. */
export function integer(min: number, max: number) {
  const what = `expected a whole number from ${min} to ${max}`;
  return v.pipe(
    v.number(),
    v.integer(what),
    v.minValue(min, what),
    v.maxValue(max, what),
  );
}

/** A string of `min` to `max` characters. */
export function text(max: number, min = 1) {
  return v.pipe(
    v.string(),
    v.minLength(min, "expected a string that is not empty"),
    v.maxLength(max, `expected at most ${count(max, "character")}`),
  );
}

/** A string that matches `pattern`, described as `what`: `a header name`. */
export function pattern(regex: RegExp, what: string, max = 253) {
  return v.pipe(
    v.string(`expected ${what}`),
    v.maxLength(max, `expected ${what} of at most ${count(max, "character")}`),
    v.regex(regex, `expected ${what}`),
  );
}

/** A string for which `test` holds, described as `what`. Not visible in the JSON Schema. */
export function textThat(test: (value: string) => boolean, what: string) {
  return v.pipe(
    v.string(`expected ${what}`),
    v.check(test, `expected ${what}`),
  );
}

/** A value that must not appear in messages, such as a token. */
export function secret() {
  return v.pipe(
    v.string("must be a string; put the value in quotes"),
    v.minLength(1, "must not be empty"),
  );
}

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

/** `schema` with rules that are checked once the value is otherwise valid. Not visible in the JSON Schema. */
export function refine<S extends v.GenericSchema>(
  schema: S,
  ...rules: readonly Rule<v.InferOutput<S>>[]
): S {
  const checks = rules.map(({ holds, message, at }) =>
    v.rawCheck<v.InferOutput<S>>(({ dataset, addIssue }) => {
      if (!dataset.typed || holds(dataset.value)) return;
      const path = pathItems(dataset.value, at(dataset.value));
      const input = path === undefined ? dataset.value : path.at(-1)?.value;
      addIssue({
        message: message(dataset.value),
        input,
        ...(path !== undefined && { path }),
      });
    })
  );
  return v.pipe(schema, ...checks) as unknown as S;
}

type PathItems = [v.IssuePathItem, ...v.IssuePathItem[]];

function pathItems(
  root: unknown,
  path: readonly (string | number)[],
): PathItems | undefined {
  let input = root;
  const items = path.map((key): v.IssuePathItem => {
    const value = typeof input === "object" && input !== null
      ? Reflect.get(input, key)
      : undefined;
    const item = {
      type: "unknown",
      origin: "value",
      input,
      key,
      value,
    } as const;
    input = value;
    return item;
  });
  const [first, ...rest] = items;
  return first === undefined ? undefined : [first, ...rest];
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

function count(amount: number, noun: string): string {
  return amount === 1 ? `1 ${noun}` : `${amount} ${noun}s`;
}
