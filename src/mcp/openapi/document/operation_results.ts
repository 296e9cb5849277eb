import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type { RestCall } from "./rest_tool.ts";
import {
  type Located,
  type OpenApiDocument,
  placeOf,
} from "./openapi_document.ts";
import { isJsonType } from "./operation_parameters.ts";
import type { SchemaBundles } from "./schema_bundles.ts";

/** Facts about the results of an operation. */
export interface DocumentedResults
  extends Pick<RestCall, "accept" | "promised"> {
  readonly schema: JsonObject | undefined;
}

const MAX_ACCEPT = 512;
const ANY_TYPE = "application/json, */*;q=0.5";

/** Results that the document does not describe. */
export const unknownResults: DocumentedResults = {
  accept: ANY_TYPE,
  schema: undefined,
  promised: undefined,
};

/** Reads the successful responses of an operation. @throws {DocumentError} */
export function readResults(
  document: OpenApiDocument,
  bundles: SchemaBundles,
  operation: Located,
  maxBytes: number,
): DocumentedResults {
  const contents = contentsOf(document, operation);
  const accept = acceptOf(contents.map(({ type }) => type));
  const schemas = contents.filter(({ type, schema }) =>
    isJsonType(type) && isJsonObject(schema)
  );
  const others = contents.some(({ type, isAlternative }) =>
    !isJsonType(type) && !isAlternative
  );
  const [only, ...more] = schemas;
  if (only === undefined || others) {
    return { accept, schema: undefined, promised: undefined };
  }
  const roots = new Set(
    schemas.map(({ schema, place }) => typeOf(document, schema, place)),
  );
  const [root = "other"] = roots;
  const promised = roots.size === 1 ? root : "other";
  const schema = bundles.bundle("output", maxBytes, (convert) => {
    const converted = schemas.map((each) => convert(each.schema, each.place));
    const [first] = converted;
    const own = more.length > 0
      ? { anyOf: converted }
      : isJsonObject(first)
      ? first
      : {};
    return promised === "other" ? own : { ...own, type: promised };
  });
  return JSON.stringify(schema).length > 2 * maxBytes
    ? { accept, schema: undefined, promised: undefined }
    : { accept, schema, promised };
}

interface Content {
  readonly type: string;
  readonly schema: unknown;
  readonly place: string;
  /** The response exists as JSON, too. */
  readonly isAlternative: boolean;
}

function contentsOf(
  document: OpenApiDocument,
  { value, place }: Located,
): readonly Content[] {
  const { responses } = value;
  if (!isJsonObject(responses)) return [];
  const codes = Object.keys(responses).filter((code) => /^2/.test(code));
  const used = codes.length > 0
    ? codes
    : Object.keys(responses).filter((code) => code === "default");
  return used.flatMap((code) => {
    const response = document.resolve(
      responses[code],
      placeOf(place, "responses", code),
    );
    const { content } = response.value;
    if (!isJsonObject(content)) return [];
    const isAlternative = Object.keys(content).some(isJsonType);
    return Object.entries(content).map(([type, media]) => ({
      isAlternative,
      type,
      schema: isJsonObject(media) ? media["schema"] : undefined,
      place: placeOf(response.place, "content", type, "schema"),
    }));
  });
}

/** Returns the value of `Accept`: JSON if there is some. */
function acceptOf(types: readonly string[]): string {
  const json = [...new Set(types.filter(isJsonType))];
  const used = json.length > 0 ? json : [...new Set(types)];
  const text = used.filter((type) => /^[\w.+*-]+\/[\w.+*-]+$/.test(type))
    .join(", ");
  return text === "" || text.length > MAX_ACCEPT
    ? ANY_TYPE
    : `${text}, */*;q=0.1`;
}

/** Returns the type of all values of a schema. */
function typeOf(
  document: OpenApiDocument,
  schema: unknown,
  place: string,
  depth = 16,
): "object" | "array" | "other" {
  if (depth === 0 || !isJsonObject(schema)) return "other";
  const { value } = document.resolve(schema, place);
  const { type, properties, allOf, anyOf, oneOf } = value;
  if (type === "object" || type === "array") return type;
  if (type !== undefined) return "other";
  if (isJsonObject(properties)) return "object";
  const inner = (each: unknown) => typeOf(document, each, place, depth - 1);
  if (Array.isArray(allOf)) {
    return allOf.map(inner).find((each) => each !== "other") ?? "other";
  }
  const choices = anyOf ?? oneOf;
  const types = new Set(Array.isArray(choices) ? choices.map(inner) : []);
  const [only = "other"] = types;
  return types.size === 1 ? only : "other";
}
