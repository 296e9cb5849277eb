/** Completion and explanations in the editor, from a JSON Schema. */
import {
  fieldsOf,
  partsAt,
  type SchemaPart,
  valuesOf,
} from "./schema_parts.ts";
import { placeAt } from "./yaml_place.ts";

/** Knowledge about the documents of an editor. */
export interface EditorLanguage {
  readonly schema: SchemaPart;
  /** Returns the definition of the schema that a document follows. */
  readonly definitionOf: (text: string) => string;
  /** Words to offer in values whose schema has this title, such as `CEL expression`. */
  readonly words: Readonly<Record<string, readonly string[]>>;
}

/** A word to complete. */
export interface Completion {
  readonly label: string;
  /** Text to insert, where it is not the label. */
  readonly apply?: string;
  readonly info?: string;
  readonly type: "property" | "constant" | "variable";
}

/** Completions of the word before an offset. */
export interface Completions {
  readonly from: number;
  readonly options: readonly Completion[];
  /** Text for which the options stay the same. */
  readonly validFor: RegExp;
}

/** Returns what may be written before an offset. @param isAsked Offers keys where nothing is written yet, too. */
export function completionsAt(
  language: EditorLanguage,
  text: string,
  offset: number,
  isAsked: boolean,
): Completions | null {
  const { path, key, word } = placeAt(text, offset);
  if (word === "" && key === undefined && !isAsked) return null;
  const { schema, definitionOf } = language;
  const parts = partsAt(schema, definitionOf(text), [
    ...path,
    ...key === undefined ? [] : [key],
  ]);
  const last = word.split(/[\s(!=&|<>+,?:]/).at(-1) ?? "";
  const words = parts.flatMap(({ title = "" }) => language.words[title] ?? []);
  const options: readonly Completion[] = [
    ...key === undefined ? keysOf(parts) : [],
    ...valuesOf(parts).map((label) => ({ label, type: "constant" as const })),
    ...words.map((label) => ({ label, type: "variable" as const })),
  ];
  return options.length === 0 ? null : {
    from: offset - (words.length > 0 ? last : word).length,
    options,
    validFor: /^[\w.-]*$/,
  };
}

function keysOf(parts: readonly SchemaPart[]): readonly Completion[] {
  return [...fieldsOf(parts)].map(([label, { description }]) => ({
    label,
    apply: `${label}: `,
    type: "property",
    ...description !== undefined && { info: description },
  }));
}

/** Returns what the schema says of the key that ends at an offset; empty for other words. */
export function explanationAt(
  { schema, definitionOf }: EditorLanguage,
  text: string,
  offset: number,
): string {
  const { path, key, word } = placeAt(text, offset);
  if (key !== undefined) return "";
  const field = fieldsOf(partsAt(schema, definitionOf(text), path)).get(word);
  if (field === undefined) return "";
  const values = valuesOf(
    partsAt(schema, definitionOf(text), [...path, word]),
  );
  return [
    field.description ?? word,
    ...values.length === 0 ? [] : [`One of ${values.join(", ")}.`],
    ...field.default === undefined
      ? []
      : [`Default: ${JSON.stringify(field.default)}.`],
  ].join("\n");
}
