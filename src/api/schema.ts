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
    v.minLength(min, "expected a text that is not empty"),
    v.maxLength(max, `expected at most ${count(max, "character")}`),
  );
}

/** A string that matches `pattern`, described as `what`: `a header name`. */
export function pattern(regex: RegExp, what: string, max = 253) {
  return v.pipe(
    v.string(),
    v.maxLength(max, `expected ${what} of at most ${count(max, "character")}`),
    v.regex(regex, `expected ${what}`),
  );
}

/** A string for which `test` holds, described as `what`. Not visible in the JSON Schema. */
export function textThat(test: (value: string) => boolean, what: string) {
  return v.pipe(v.string(), v.check(test, `expected ${what}`));
}

/** A value that must not appear in messages, such as a token. */
export function secret() {
  return v.pipe(
    v.string("expected a text that is not shown here"),
    v.minLength(1, "expected a text that is not empty"),
  );
}

/** Something that must hold for a whole value, and what to say when it does not. */
export interface Rule<T> {
  readonly holds: (value: T) => boolean;
  readonly message: string | ((value: T) => string);
}

/** A rule about a whole value; `message` is what is wrong, in full, or begins with `expected`. */
export function rule<T>(
  holds: (value: T) => boolean,
  message: string,
): Rule<T> {
  return { holds, message };
}

/** A rule whose message names the value. */
export function ruleWith<T>(
  holds: (value: T) => boolean,
  message: (value: T) => string,
): Rule<T> {
  return { holds, message };
}

/** `schema` with rules that are checked once the value is otherwise valid. Not visible in the JSON Schema. */
export function refine<S extends v.GenericSchema>(
  schema: S,
  ...rules: readonly Rule<v.InferOutput<S>>[]
): S {
  const checks = rules.map(({ holds, message }) =>
    v.check(
      holds,
      typeof message === "string" ? message : (issue) => message(issue.input),
    )
  );
  return v.pipe(schema, ...checks) as unknown as S;
}

/** Exactly one of `names` is present in the mapping. */
export function exactlyOne(...names: readonly string[]): Rule<object> {
  const quoted = names.map((name) => JSON.stringify(name)).join(", ");
  return rule<object>(
    (value) => names.filter((name) => Object.hasOwn(value, name)).length === 1,
    `exactly one of ${quoted} is required`,
  );
}

/** At most one of `names` is present in the mapping. */
export function atMostOne(...names: readonly string[]): Rule<object> {
  const quoted = names.map((name) => JSON.stringify(name)).join(", ");
  return rule<object>(
    (value) => names.filter((name) => Object.hasOwn(value, name)).length <= 1,
    `at most one of ${quoted} is allowed`,
  );
}

/** At least one of `names` is present in the mapping. */
export function atLeastOne(...names: readonly string[]): Rule<object> {
  const quoted = names.map((name) => JSON.stringify(name)).join(", ");
  return rule<object>(
    (value) => names.some((name) => Object.hasOwn(value, name)),
    `at least one of ${quoted} is required`,
  );
}

/** No two items of a list share a key. */
export function unique<T>(
  keyOf: (item: T) => string,
  what: string,
): Rule<readonly T[]> {
  return rule<readonly T[]>(
    (items) => new Set(items.map(keyOf)).size === items.length,
    `each ${what} may appear only once`,
  );
}

function count(amount: number, noun: string): string {
  return amount === 1 ? `1 ${noun}` : `${amount} ${noun}s`;
}
