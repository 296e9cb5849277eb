import type {
  JsonDefinitions,
  JsonSchema,
} from "../../src/api/schema/json_schema.ts";

const INTRODUCTION = `# Reference of the configuration file

Made by \`gateway schema --markdown\`; do not edit.

\`[]\` stands for the items of a list, \`<name>\` for a name of your choice. A
duration is one or more numbers with a unit (\`h\`, \`m\`, \`s\`, \`ms\`), such as
\`500ms\` or \`1m30s\`. File paths are relative to the file that contains them.`;

/** Generates the reference of the configuration file in Markdown from its JSON Schema. */
export function describeFile({ $defs = {}, then }: JsonSchema): string {
  const { ShortForm = {}, ...others } = $defs;
  const kinds = then?.properties?.["kind"]?.enum ?? [];
  const isKind = (name: string) => kinds.includes(name);
  const sections = Object.entries(ShortForm.properties ?? {}).map((
    [name, schema],
  ) => describeSection(`\`${name}\``, schema, name));
  const definitions = Object.entries(others).map(([name, schema]) => ({
    name,
    text: describeSection(name, schema, ""),
  }));
  return [
    INTRODUCTION,
    "## Short form",
    ...sections,
    "## Kubernetes resources",
    ...definitions.filter(({ name }) => isKind(name)).map(({ text }) => text),
    "## Shared parts",
    ...definitions.filter(({ name }) => !isKind(name)).map(({ text }) => text),
  ].join("\n\n") + "\n";
}

function describeSection(
  title: string,
  schema: JsonSchema,
  path: string,
): string {
  const rows = describeFields(schema, path);
  const table = [
    "| field | value | default | meaning |",
    "| --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
  return [
    `### ${title}`,
    ...(schema.description === undefined ? [] : [schema.description]),
    ...(rows.length === 0 ? [] : [table]),
  ].join("\n\n");
}

/** Describes all fields below `schema` as rows. */
function describeFields(schema: JsonSchema, path: string): readonly string[] {
  const { items, additionalProperties } = schema;
  if (items !== undefined) return describeFields(items, `${path}[]`);
  if (typeof additionalProperties === "object") {
    return describeFields(additionalProperties, `${path}.<name>`);
  }
  return Object.entries(propertiesOf(schema)).flatMap(([name, property]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const row = [
      `\`${at}\``,
      valueOf(property),
      isRequired(schema, name) ? "required" : defaultOf(property),
      property.description ?? "",
    ];
    const rest = describeFields(property, at);
    return [`| ${row.join(" | ")} |`, ...rest];
  });
}

/** Returns the fields of a mapping, merged over its variants. */
function propertiesOf(schema: JsonSchema): JsonDefinitions {
  const properties: Record<string, JsonSchema> = {};
  for (const variant of variantsOf(schema)) {
    for (const [name, property] of Object.entries(variant.properties ?? {})) {
      properties[name] = merge(properties[name], property);
    }
  }
  return properties;
}

/** Merges a field of two variants, which accept different constants. */
function merge(
  first: JsonSchema | undefined,
  second: JsonSchema,
): JsonSchema {
  if (first === undefined) return second;
  const { const: _, default: fallback, ...rest } = first;
  const choices = new Set([...choicesOf(first), ...choicesOf(second)]);
  return {
    ...rest,
    enum: [...choices],
    ...(fallback === second.default && { default: fallback }),
  };
}

function isRequired(schema: JsonSchema, name: string): boolean {
  return variantsOf(schema).every(({ required }) => required?.includes(name));
}

function variantsOf(schema: JsonSchema): readonly JsonSchema[] {
  return schema.oneOf ?? schema.anyOf ?? [schema];
}

/** Summarizes the values of a field: `list of header names`, `integer 1–65535`. */
function valueOf(schema: JsonSchema): string {
  const { $ref, title, items, additionalProperties, minimum, maximum } = schema;
  const name = $ref?.replace("#/$defs/", "");
  if (name !== undefined) return `[${name}](#${name.toLowerCase()})`;
  if (title !== undefined) return title;
  const choices = choicesOf(schema);
  if (choices.length > 0) return choices.map(asCode).join(", ");
  if (items !== undefined) return `list of ${pluralOf(valueOf(items))}`;
  if (schema.anyOf !== undefined) {
    return schema.anyOf.map(valueOf).filter((value) => value !== "null")
      .join(" or ");
  }
  if (schema.type === "integer") {
    return maximum === undefined || maximum >= 2 ** 31 - 1
      ? `integer from ${minimum}`
      : `integer ${minimum}–${maximum}`;
  }
  if (schema.type === "boolean") return "`true`, `false`";
  const isMapping = schema.type === "object" || schema.oneOf !== undefined;
  if (isMapping && typeof additionalProperties === "object") {
    return `mapping of ${pluralOf(valueOf(additionalProperties))}`;
  }
  if (isMapping) return "mapping";
  return schema.type ?? ("not" in schema ? "" : "anything");
}

function pluralOf(noun: string): string {
  const [kind, ...bounds] = noun.split(" ");
  if (kind === "integer") return ["integers", ...bounds].join(" ");
  return /[a-zA-Z]$/.test(noun) ? `${noun}s` : noun;
}

function choicesOf(schema: JsonSchema): readonly unknown[] {
  return schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
}

/** Returns the default; empty for an empty mapping or list, whose fields have their own defaults. */
function defaultOf({ default: fallback }: JsonSchema): string {
  const isEmpty = fallback === undefined || fallback === "" ||
    /^[[\]{}]+$/.test(JSON.stringify(fallback));
  return isEmpty ? "" : asCode(fallback);
}

function asCode(value: unknown): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}
