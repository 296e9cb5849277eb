import type {
  JsonDefinitions,
  JsonSchema,
} from "../../api/schema/json_schema.ts";

/** A schema in the form that a CustomResourceDefinition takes; Kubernetes "structural schema". */
export type StructuralSchema = { readonly [keyword: string]: unknown };

/** Accepts any value and stores it as it is. */
const anything: StructuralSchema = {
  "x-kubernetes-preserve-unknown-fields": true,
};

/** Keywords that mean the same in both. */
const shared = [
  "title",
  "description",
  "default",
  "enum",
  "format",
  "pattern",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
] as const;

/**
 * Converts a JSON Schema to a structural schema, which the API server checks objects with.
 *
 * The gateway itself checks rules that only JSON Schema can express, such as alternatives of an object, and reports them in the
 * status; the structural schema allows the fields of all alternatives. https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export function toStructuralSchema(
  schema: JsonSchema,
  definitions: JsonDefinitions,
): StructuralSchema {
  const resolved = resolve(schema, definitions);
  const { anyOf, oneOf, allOf } = resolved;
  const alternatives = anyOf ?? oneOf ??
    (Array.isArray(allOf) ? allOf as readonly JsonSchema[] : undefined);
  if (alternatives !== undefined) {
    return mergeAlternatives(resolved, alternatives, definitions);
  }
  return { ...keep(resolved), ...structureOf(resolved, definitions) };
}

function resolve(
  { $ref, ...own }: JsonSchema,
  definitions: JsonDefinitions,
): JsonSchema {
  if ($ref === undefined) return own;
  const target = definitions[$ref.slice("#/$defs/".length)];
  if (target === undefined) throw new TypeError(`unknown definition "${$ref}"`);
  const given = Object.fromEntries(
    Object.entries(own).filter(([, value]) => value !== undefined),
  );
  return { ...resolve(target, definitions), ...given };
}

function keep(schema: JsonSchema): StructuralSchema {
  return Object.fromEntries(
    shared.flatMap((name) =>
      schema[name] === undefined ? [] : [[name, schema[name]]]
    ),
  );
}

function structureOf(
  schema: JsonSchema,
  definitions: JsonDefinitions,
): StructuralSchema {
  const { type, items, properties, required, additionalProperties } = schema;
  if (schema.const !== undefined) {
    return { type: typeof schema.const, enum: [schema.const] };
  }
  if (type === "array") {
    return {
      type,
      items: items === undefined
        ? anything
        : toStructuralSchema(items, definitions),
    };
  }
  if (type !== "object") return type === undefined ? anything : { type };
  if (properties === undefined) {
    return typeof additionalProperties === "object"
      ? {
        type,
        additionalProperties: toStructuralSchema(
          additionalProperties,
          definitions,
        ),
      }
      : { type, ...anything };
  }
  return {
    type,
    ...(required !== undefined && required.length > 0 && { required }),
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [
        name,
        toStructuralSchema(property, definitions),
      ]),
    ),
  };
}

/** Merges alternatives that are all objects; others accept anything. */
function mergeAlternatives(
  schema: JsonSchema,
  alternatives: readonly JsonSchema[],
  definitions: JsonDefinitions,
): StructuralSchema {
  const converted = alternatives.map((each) =>
    toStructuralSchema(each, definitions)
  );
  const properties: Record<string, StructuralSchema> = {};
  for (const each of converted) {
    const own = each["properties"];
    if (typeof own !== "object" || own === null) {
      return isSame(converted)
        ? { ...converted[0], ...keep(schema) }
        : { ...keep(schema), ...anything };
    }
    for (const [name, property] of Object.entries(own)) {
      properties[name] = unite(properties[name], property);
    }
  }
  const required = alternatives.map((each) =>
    new Set(resolve(each, definitions).required ?? [])
  ).reduce((all, each) => all.intersection(each));
  return {
    ...keep(schema),
    type: "object",
    ...(required.size > 0 && { required: [...required] }),
    properties,
  };
}

function isSame(schemas: readonly StructuralSchema[]): boolean {
  return new Set(schemas.map((each) => JSON.stringify(each))).size === 1;
}

/** Unites the schemas of a field in two alternatives; the names of the alternatives become one enumeration. */
function unite(
  first: StructuralSchema | undefined,
  second: StructuralSchema,
): StructuralSchema {
  if (first === undefined || isSame([first, second])) return second;
  const [a, b] = [first["enum"], second["enum"]];
  if (Array.isArray(a) && Array.isArray(b)) {
    return { ...first, enum: [...new Set([...a, ...b])] };
  }
  return anything;
}
