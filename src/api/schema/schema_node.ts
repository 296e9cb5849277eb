/** The members of a schema that hold other schemas; which of them it has depends on its kind. */
export interface SchemaNode {
  readonly kind: "schema";
  readonly pipe?: readonly object[];
  readonly wrapped?: SchemaNode;
  readonly options?: readonly (SchemaNode | string)[];
  readonly item?: SchemaNode;
  readonly rest?: SchemaNode;
  readonly value?: SchemaNode;
  readonly entries?: SchemaEntries;
}

/** Schemas by the name of their field. */
export type SchemaEntries = Readonly<Record<string, SchemaNode>>;

/** Reports whether a member of a schema is a schema itself, and no action or name. */
export function isSchema(part: unknown): part is SchemaNode {
  return typeof part === "object" && part !== null && "kind" in part &&
    part.kind === "schema";
}

/** Returns the fields of the mappings that `path` leads to; several where the schema has alternatives. */
export function entriesAt(
  schema: SchemaNode,
  path: readonly (string | number)[],
): readonly SchemaEntries[] {
  const { pipe, wrapped, options = [], entries } = schema;
  const same = pipe ?? [wrapped, ...options];
  const [step, ...rest] = path;
  const next = step === undefined
    ? undefined
    : entries?.[step] ?? schema.item ?? schema.rest ?? schema.value;
  return [
    ...(entries !== undefined && step === undefined ? [entries] : []),
    ...(next === undefined || pipe ? [] : entriesAt(next, rest)),
    ...same.filter(isSchema).flatMap((each) => entriesAt(each, path)),
  ];
}
