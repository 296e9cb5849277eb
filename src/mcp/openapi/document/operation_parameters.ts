import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { protectedHeaders } from "../../../base/wire/protected_headers.ts";
import { isFieldName } from "../../../http/field_syntax.ts";
import type {
  CredentialPlace,
  ParameterStyle,
  RestParameter,
  ValueStyle,
} from "./rest_tool.ts";
import {
  DocumentError,
  type Located,
  type OpenApiDocument,
  placeOf,
} from "./openapi_document.ts";

/** A parameter of an operation, in the document and in requests. */
export interface DocumentedParameter {
  readonly request: RestParameter;
  /** Description for the model; `undefined` without one. */
  readonly description: string | undefined;
  readonly schema: unknown;
  readonly schemaPlace: string;
}

/** Header fields that OpenAPI leaves to other parts of a document, or that are not the model's to set. */
const ignoredHeaders: ReadonlySet<string> = new Set([
  ...protectedHeaders,
  "accept",
  "accept-encoding",
  "authorization",
  "content-type",
  "cookie",
  "forwarded",
  "proxy-authorization",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
]);

const defaultStyles = {
  path: "simple",
  query: "form",
  header: "simple",
  cookie: "form",
} as const;

const allowedStyles: Readonly<
  Record<keyof typeof defaultStyles, readonly ParameterStyle[]>
> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};

/**
 * Reads the parameters of an operation: its own, and those of its path that it does not replace. Those that carry the credential of the
 * gateway are left out.
 * @throws {DocumentError}
 */
export function readParameters(
  document: OpenApiDocument,
  path: Located,
  operation: Located,
  credentials: readonly CredentialPlace[],
): readonly DocumentedParameter[] {
  const found = new Map<string, Located>();
  for (const { value, place } of [path, operation]) {
    const { parameters = [] } = value;
    const listPlace = placeOf(place, "parameters");
    if (!Array.isArray(parameters)) {
      throw new DocumentError(`${listPlace}: not a list`);
    }
    for (const [index, each] of parameters.entries()) {
      const located = document.resolve(each, placeOf(listPlace, String(index)));
      if (isBody(located)) continue;
      const { in: location, name } = located.value;
      found.set(`${String(location)} ${String(name)}`, located);
    }
  }
  const taken = new Set<string>();
  return [...found.values()].flatMap((located) => {
    const parameter = readParameter(located, taken);
    return parameter === undefined || isCredential(parameter, credentials)
      ? []
      : [parameter];
  });
}

/** Reports whether a parameter of Swagger 2.0 has become a body. */
function isBody({ value }: Located): boolean {
  return value["in"] === undefined && isJsonObject(value["content"]);
}

/** Returns the parameter of an operation that has become its body, as an upgrade of Swagger 2.0 leaves it. */
export function bodyParameter(
  document: OpenApiDocument,
  { value, place }: Located,
): Located | undefined {
  const { parameters } = value;
  const listed: readonly unknown[] = Array.isArray(parameters)
    ? parameters
    : [];
  return listed.map((each) =>
    document.resolve(each, placeOf(place, "parameters"))
  ).find(isBody);
}

function readParameter(
  { value, place }: Located,
  taken: Set<string>,
): DocumentedParameter | undefined {
  const { in: location, name, description, required, deprecated } = value;
  if (typeof name !== "string" || name === "") {
    throw new DocumentError(`${place}: "name" is missing`);
  }
  if (
    location !== "path" && location !== "query" && location !== "header" &&
    location !== "cookie"
  ) {
    throw new DocumentError(
      `${place}: "in" must be path, query, header or cookie`,
    );
  }
  const field = name.toLowerCase();
  const isIgnored = ignoredHeaders.has(field) || field.startsWith("mcp-");
  if (location === "header" && isIgnored) return undefined;
  if (location === "header" && !isFieldName(name)) {
    throw new DocumentError(`${place}: "name" is not the name of a header`);
  }
  const argument = argumentName(name, location, taken);
  const { schema, schemaPlace, isJson } = schemaOf(value, place);
  const style = readStyle(value, place, location, isJson);
  const isDeprecated = deprecated === true ? "Deprecated. " : "";
  return {
    request: {
      argument,
      name,
      in: location,
      isRequired: location === "path" || required === true,
      ...style,
    },
    description: typeof description === "string"
      ? isDeprecated + description
      : isDeprecated || undefined,
    schema,
    schemaPlace,
  };
}

/** Returns a name for an argument that no other has: parameters in two places can have the same name. */
export function argumentName(
  name: string,
  location: string,
  taken: Set<string>,
): string {
  // Model providers reject other characters in names of properties.
  const plain = name.replace(/\[\]$/, "").replace(/[^A-Za-z0-9_.-]+/g, "_")
    .slice(0, 64);
  let argument = plain;
  for (let count = 1; taken.has(argument); count++) {
    argument = `${plain.slice(0, 48)}_${location}${count > 1 ? count : ""}`;
  }
  taken.add(argument);
  return argument;
}

function schemaOf(value: JsonObject, place: string): {
  readonly schema: unknown;
  readonly schemaPlace: string;
  readonly isJson: boolean;
} {
  const { schema = {}, content } = value;
  if (!isJsonObject(content)) {
    return { schema, schemaPlace: placeOf(place, "schema"), isJson: false };
  }
  const [[type, media] = []] = Object.entries(content);
  if (type === undefined || !isJsonObject(media)) {
    throw new DocumentError(`${place}: "content" has no media type`);
  }
  return {
    schema: media["schema"] ?? {},
    schemaPlace: placeOf(place, "content", type, "schema"),
    isJson: isJsonType(type),
  };
}

/** Reports whether a media type is JSON. */
export function isJsonType(type: string): boolean {
  return /^(?:application\/(?:[\w.+-]+\+)?json|\*\/\*|application\/\*)\s*(?:;|$)/i
    .test(type);
}

function readStyle(
  { style, explode, allowReserved }: JsonObject,
  place: string,
  location: keyof typeof defaultStyles,
  isJson: boolean,
): ValueStyle {
  const isReserved = allowReserved === true;
  if (isJson) {
    return { style: "json", explode: false, allowReserved: isReserved };
  }
  const known = style === undefined
    ? defaultStyles[location]
    : allowedStyles[location].find((each) => each === style);
  if (known === undefined) {
    throw new DocumentError(
      `${place}: style ${
        JSON.stringify(style)
      } is not one of ${location} parameters`,
    );
  }
  return {
    style: known,
    explode: typeof explode === "boolean" ? explode : known === "form",
    allowReserved: isReserved,
  };
}

function isCredential(
  { request }: DocumentedParameter,
  credentials: readonly CredentialPlace[],
): boolean {
  return credentials.some((place) =>
    "name" in place && place.in === request.in &&
    (place.in === "header"
      ? place.name.toLowerCase() === request.name.toLowerCase()
      : place.name === request.name)
  );
}
