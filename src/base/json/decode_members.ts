import { isJsonObject } from "../json.ts";

/** Readers of members by their kind; `undefined` for a value of another kind. */
const readers = {
  string: (value: unknown) => typeof value === "string" ? value : undefined,
  number: (value: unknown) => typeof value === "number" ? value : undefined,
  boolean: (value: unknown) => typeof value === "boolean" ? value : undefined,
  object: (value: unknown) => isJsonObject(value) ? value : undefined,
  /** Leaves out items of a list that are no strings. */
  strings: (value: unknown): readonly string[] | undefined =>
    Array.isArray(value)
      ? value.filter((item) => typeof item === "string")
      : undefined,
};

/** Kinds of members by their names. */
type Kinds = Readonly<Record<string, keyof typeof readers>>;
type MemberOf<Kind extends keyof typeof readers> = NonNullable<
  ReturnType<typeof readers[Kind]>
>;

/** Members of a record. */
type Members<Required extends Kinds, Optional extends Kinds> =
  & { readonly [Name in keyof Required]: MemberOf<Required[Name]> }
  & {
    readonly [Name in keyof Optional]: MemberOf<Optional[Name]> | undefined;
  };

/**
 * Reads members of a record that was sealed or stored; `undefined` if a required one is missing or of another kind.
 * @param optional Members that are `undefined` then.
 */
export function readMembers<
  const Required extends Kinds,
  const Optional extends Kinds = Record<never, never>,
>(
  value: unknown,
  required: Required,
  optional?: Optional,
): Members<Required, Optional> | undefined {
  if (!isJsonObject(value)) return undefined;
  const read = (kinds: Kinds) =>
    Object.entries(kinds).map(([name, kind]) =>
      [name, readers[kind](value[name])] as const
    );
  const members = read(required);
  if (members.some(([, member]) => member === undefined)) return undefined;
  const all = Object.fromEntries([...members, ...read(optional ?? {})]);
  return all as Members<Required, Optional>;
}
