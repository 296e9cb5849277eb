/**
 * Vocabulary of the resource schemas: valibot, plus strict objects that report every unknown field, and checks whose messages
 * state what they expected.
 */
import type { JsonValue } from "../../base/json.ts";
import * as v from "./valibot_schema.ts";
import { withPrivacy } from "./privacy.ts";
import type { Rule } from "./schema_rules.ts";

export { type Privacy, withPrivacy } from "./privacy.ts";
export * from "./schema_rules.ts";

export {
  array,
  boolean,
  exactOptional as optional,
  literal,
  nullable,
  number,
  object as openObject,
  objectWithRest,
  optional as withDefault,
  picklist as oneOf,
  record as map,
  strictMapping as object,
  string,
  union,
  unknown,
  variant,
} from "./valibot_schema.ts";
export type {
  GenericSchema,
  ObjectEntries as Entries,
} from "./valibot_schema.ts";

/** The value type of a schema, deeply read-only. */
export type Infer<S extends v.GenericSchema> = DeepReadonly<v.InferOutput<S>>;

/** `T` with all properties and arrays read-only. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
  : T;

/** Returns whether `value` has the shape of `schema`. */
export function matches<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
): value is Infer<S> {
  return v.is(schema, value);
}

/** A string that this version writes as one of `T`; readers accept any, because a later version may write others. */
export function openText<T extends string>(): v.CustomSchema<T, undefined> {
  return v.custom<T>((value) => typeof value === "string");
}

/** Any JSON value. */
export function json(): v.CustomSchema<JsonValue, undefined> {
  return v.custom<JsonValue>(() => true);
}

/** Parses `input`: returns the value with defaults, or all issues. */
export function parse<S extends v.GenericSchema>(
  schema: S,
  input: unknown,
):
  | { readonly ok: true; readonly value: Infer<S> }
  | { readonly ok: false; readonly issues: readonly v.Issue[] } {
  const result = v.safeParse(schema, input);
  return result.success
    ? { ok: true, value: result.output as Infer<S> }
    : { ok: false, issues: result.issues };
}

/**
 * A field with the description that editors and the reference show. `assumed` documents a default that is applied later, not
 * by the schema.
 */
export function field<S extends v.GenericSchema>(
  description: string,
  schema: S,
  assumed?: string | number | boolean,
): S {
  const metadata = {
    description,
    ...(assumed !== undefined && { default: assumed }),
  };
  return v.pipe(schema, v.metadata(metadata)) as unknown as S;
}

/** A schema with a type name, such as `duration`, for editors and the reference. */
export function named<S extends v.GenericSchema>(name: string, schema: S): S {
  return v.pipe(schema, v.title(name)) as unknown as S;
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

/** An integer within bounds, which the message states. */
export function integer(min: number, max: number) {
  const expected = `expected a whole number from ${min} to ${max}`;
  return v.pipe(
    v.number(),
    v.integer(expected),
    v.minValue(min, expected),
    v.maxValue(max, expected),
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

/** A string that matches `regex`; messages call it `noun`: `a header name`. */
export function pattern(regex: RegExp, noun: string, max = 253) {
  return v.pipe(
    v.string(`expected ${noun}`),
    v.maxLength(max, `expected ${noun} of at most ${count(max, "character")}`),
    v.regex(regex, `expected ${noun}`),
  );
}

/** A string that passes `test`; messages call it `noun`. Not visible in the JSON Schema. */
export function checkedText(test: (value: string) => boolean, noun: string) {
  return v.pipe(
    v.string(`expected ${noun}`),
    v.check(test, `expected ${noun}`),
  );
}

/** A string, such as a token, that messages, traces and dumps never show. */
export function secret() {
  return withPrivacy(
    "secret",
    v.pipe(
      v.string("must be a string; put the value in quotes"),
      v.minLength(1, "must not be empty"),
    ),
  );
}

/**
 * Adds rules that are checked once the value is otherwise valid. Not visible in the JSON Schema.
 *
 * Rules of a mapping or list also run when one of its parts is invalid, as long as all types are right, so that both
 * problems are reported.
 */
export function refine<S extends v.GenericSchema>(
  schema: S,
  ...rules: readonly Rule<v.InferOutput<S>>[]
): S {
  const checks = rules.map(({ holds, message, at }) =>
    v.rawCheck<v.InferOutput<S>>(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      // Rules of a scalar may rely on earlier checks, such as its pattern.
      const isScalar = typeof dataset.value !== "object";
      if (isScalar && dataset.issues !== undefined) return;
      if (holds(dataset.value)) return;
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

function count(amount: number, noun: string): string {
  return amount === 1 ? `1 ${noun}` : `${amount} ${noun}s`;
}
