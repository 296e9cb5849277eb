/** Finds the parts of a JSON Schema that describe a place of a document. */
import { ITEM } from "./yaml_place.ts";

/** A JSON Schema, as far as it is read here. */
export interface SchemaPart {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, SchemaPart>>;
  readonly title?: string;
  readonly description?: string;
  readonly type?: unknown;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly SchemaPart[];
  readonly oneOf?: readonly SchemaPart[];
  readonly allOf?: readonly SchemaPart[];
  readonly items?: SchemaPart;
  readonly properties?: Readonly<Record<string, SchemaPart>>;
  readonly additionalProperties?: SchemaPart | boolean;
}

/** Returns the parts for the value at a path, below one of the definitions of a schema. */
export function partsAt(
  schema: SchemaPart,
  definition: string,
  path: readonly string[],
): readonly SchemaPart[] {
  const root = schema.$defs?.[definition] ?? schema;
  return path.reduce(
    (parts, key) => parts.flatMap((part) => membersOf(schema, part, key)),
    variantsOf(schema, root),
  );
}

/** Returns the fields that a map may have, by name. */
export function fieldsOf(
  parts: readonly SchemaPart[],
): ReadonlyMap<string, SchemaPart> {
  return new Map(
    parts.flatMap((part) => Object.entries(part.properties ?? {})),
  );
}

/** Returns the values that a scalar may have, where they can be listed. */
export function valuesOf(parts: readonly SchemaPart[]): readonly string[] {
  const values = parts.flatMap((part) => [
    ...part.enum ?? [],
    ...part.const === undefined ? [] : [part.const],
    ...part.type === "boolean" ? [true, false] : [],
  ]);
  return [...new Set(values.map(String))];
}

function membersOf(
  schema: SchemaPart,
  { properties = {}, additionalProperties: others, items }: SchemaPart,
  key: string,
): readonly SchemaPart[] {
  if (key === ITEM) return items === undefined ? [] : variantsOf(schema, items);
  const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
  const found = own ?? (typeof others === "object" ? others : undefined);
  return found === undefined ? [] : variantsOf(schema, found);
}

const MAX_DEPTH = 8;

/** Returns a part and all that it may be instead. */
function variantsOf(
  schema: SchemaPart,
  part: SchemaPart,
  depth = 0,
): readonly SchemaPart[] {
  if (depth === MAX_DEPTH) return [];
  const name = part.$ref?.replace("#/$defs/", "") ?? "";
  const referred = schema.$defs?.[name];
  const others = [
    ...referred === undefined ? [] : [referred],
    ...part.anyOf ?? [],
    ...part.oneOf ?? [],
    ...part.allOf ?? [],
  ];
  return [
    part,
    ...others.flatMap((each) => variantsOf(schema, each, depth + 1)),
  ];
}
