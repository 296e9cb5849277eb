import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { isFieldValue } from "../../../http/field_syntax.ts";
import type { ParameterStyle, RestBody, RestPart } from "./rest_tool.ts";
import {
  DocumentError,
  type Located,
  type OpenApiDocument,
  placeOf,
} from "./openapi_document.ts";
import { isBinary } from "./schema_bundles.ts";
import {
  argumentName,
  bodyParameter,
  isJsonType,
} from "./operation_parameters.ts";

/** The body of an operation, in the document and in requests. */
export interface DocumentedBody {
  readonly request: RestBody;
  readonly description: string | undefined;
  readonly schema: unknown;
  readonly schemaPlace: string;
}

type Form = RestBody["form"];

/** Forms of a body other than JSON, the best first, and their media types. */
const forms: readonly (readonly [form: Form, types: RegExp])[] = [
  ["urlencoded", /^application\/x-www-form-urlencoded\b/i],
  ["multipart", /^multipart\/form-data\b/i],
  ["text", /^text\/|[/+]xml\b|^application\/(?:yaml|x-yaml|graphql)\b/i],
  ["base64", /./],
];

/** Reads the body of an operation; `undefined` without one. @throws {DocumentError} */
export function readBody(
  document: OpenApiDocument,
  operation: Located,
  taken: Set<string>,
): DocumentedBody | undefined {
  const { requestBody } = operation.value;
  const located = requestBody === undefined
    ? bodyParameter(document, operation)
    : document.resolve(requestBody, placeOf(operation.place, "requestBody"));
  if (located === undefined) return undefined;
  const { value, place } = located;
  const { content, required, description } = value;
  if (!isJsonObject(content) || Object.keys(content).length === 0) {
    throw new DocumentError(`${place}: "content" has no media type`);
  }
  const [form, mediaType] = chooseForm(
    Object.keys(content).filter((type) => isFieldValue(type)),
  );
  const mediaPlace = placeOf(place, "content", mediaType);
  const media = document.resolve(content[mediaType], mediaPlace).value;
  const schema = form === "base64"
    ? { type: "string", contentEncoding: "base64" }
    : media["schema"] ?? {};
  return {
    request: {
      argument: argumentName("body", "content", taken),
      mediaType: mediaType.includes("*") ? "application/json" : mediaType,
      form,
      isRequired: required === true,
      parts: form === "multipart" || form === "urlencoded"
        ? readParts(document, schema, media, mediaPlace, form)
        : {},
    },
    description: typeof description === "string" ? description : undefined,
    schema,
    schemaPlace: placeOf(mediaPlace, "schema"),
  };
}

function chooseForm(
  types: readonly string[],
): readonly [form: Form, mediaType: string] {
  const json = types.find((type) => isJsonType(type));
  if (json !== undefined) return ["json", json];
  for (const [form, pattern] of forms) {
    const type = types.find((each) => pattern.test(each));
    if (type !== undefined) return [form, type];
  }
  return ["base64", types[0] ?? ""];
}

/** Reads how properties of a form are encoded (OpenAPI 3.1 section 4.8.15, "Encoding Object"). */
function readParts(
  document: OpenApiDocument,
  schema: unknown,
  { encoding }: JsonObject,
  place: string,
  form: Form,
): Readonly<Record<string, RestPart>> {
  const encodings = isJsonObject(encoding) ? encoding : {};
  const properties = propertiesOf(document, schema, place);
  const names = new Set([...properties.keys(), ...Object.keys(encodings)]);
  return Object.fromEntries(
    [...names].map((name) => {
      const own = encodings[name];
      return [
        name,
        readPart(isJsonObject(own) ? own : {}, properties.get(name), form),
      ];
    }),
  );
}

const formStyles: readonly ParameterStyle[] = [
  "form",
  "spaceDelimited",
  "pipeDelimited",
  "deepObject",
];

function readPart(
  { contentType, style, explode, allowReserved }: JsonObject,
  schema: JsonObject | undefined,
  form: Form,
): RestPart {
  const known = formStyles.find((each) => each === style) ?? "form";
  const hasStyle = style !== undefined || explode !== undefined;
  const mediaType = typeof contentType === "string"
    ? contentType.split(",")[0]?.trim()
    : undefined;
  const isJson = !hasStyle && mediaType !== undefined && isJsonType(mediaType);
  const isFile = form === "multipart" && schema !== undefined &&
    (isBinary(schema) || isJsonObject(schema["items"]) &&
        isBinary(schema["items"]));
  return {
    style: isJson ? "json" : hasStyle ? known : "content",
    explode: typeof explode === "boolean" ? explode : known === "form",
    allowReserved: allowReserved === true,
    mediaType: mediaType !== undefined && isMediaType(mediaType)
      ? mediaType
      : undefined,
    isFile,
  };
}

/** Reports whether a text is one media type without parameters, and no range of types. */
function isMediaType(text: string): boolean {
  return /^[\w.+-]+\/[\w.+-]+$/.test(text);
}

/** Returns the properties of an object schema, those of `allOf` included. */
function propertiesOf(
  document: OpenApiDocument,
  schema: unknown,
  place: string,
  depth = 8,
): Map<string, JsonObject> {
  const found = new Map<string, JsonObject>();
  if (depth === 0 || !isJsonObject(schema)) return found;
  const { value } = document.resolve(schema, place);
  const { properties, allOf } = value;
  for (const part of Array.isArray(allOf) ? allOf : []) {
    for (
      const [name, each] of propertiesOf(document, part, place, depth - 1)
    ) found.set(name, each);
  }
  if (!isJsonObject(properties)) return found;
  for (const [name, each] of Object.entries(properties)) {
    if (isJsonObject(each)) {
      found.set(name, document.resolve(each, placeOf(place, name)).value);
    }
  }
  return found;
}
