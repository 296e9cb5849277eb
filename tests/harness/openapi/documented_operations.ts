/** Operations as a document has them: read again, so that the converter is not compared with itself. */
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { OpenApiDocument } from "../../../src/mcp/openapi/document/openapi_document.ts";

/** An operation of a document in the form of OpenAPI 3.1. */
export interface DocumentedOperation {
  /** In upper case. */
  readonly method: string;
  /** Key of `paths`. */
  readonly path: string;
  /** JSON pointer of the path. */
  readonly place: string;
  readonly operationId: string | undefined;
  readonly parameters: readonly JsonObject[];
  /** Media types of the body. */
  readonly content: JsonObject;
}

const methods = new Set([
  "get",
  "put",
  "post",
  "delete",
  "options",
  "head",
  "patch",
  "trace",
]);

/** Lists the operations of a document, and names of security schemes that are parameters. */
export function documentedOperations(text: string): {
  /** Title and version of the API. */
  readonly title: string;
  /** Version of OpenAPI. */
  readonly version: string;
  readonly operations: readonly DocumentedOperation[];
  readonly credentials: ReadonlySet<string>;
} {
  // The version is that of the author: the parser upgrades the document.
  const version = /["']?\b(?:openapi|swagger)["']?\s*:\s*["']?(\d[\d.]*\d)/
    .exec(text)?.[1] ?? "?";
  const { root } = OpenApiDocument.parse(text);
  const info = objectOf(root["info"]);
  const title = `${info["title"]} ${info["version"]}`;
  const paths = objectOf(root["paths"]);
  const operations = Object.entries(paths).flatMap(([path, value]) => {
    const item = follow(root, value);
    return Object.entries(item).filter(([method]) => methods.has(method))
      .map(([method, operation]) =>
        operationOf(root, path, method, item, operation)
      );
  });
  const schemes = objectOf(objectOf(root["components"])["securitySchemes"]);
  const credentials = Object.values(schemes)
    .map((scheme) => follow(root, scheme))
    .filter(({ type }) => type === "apiKey")
    .map((scheme) => `${scheme["in"]} ${scheme["name"]}`.toLowerCase());
  return { title, version, operations, credentials: new Set(credentials) };
}

function operationOf(
  root: JsonObject,
  path: string,
  method: string,
  item: JsonObject,
  value: unknown,
): DocumentedOperation {
  const operation = follow(root, value);
  const found = new Map<string, JsonObject>();
  let content: JsonObject = {};
  for (const list of [item["parameters"], operation["parameters"]]) {
    for (const each of Array.isArray(list) ? list : []) {
      const parameter = follow(root, each);
      // An upgrade of Swagger 2.0 leaves shared bodies among the parameters.
      if (parameter["in"] === undefined) {
        content = objectOf(parameter["content"]);
      } else found.set(`${parameter["in"]} ${parameter["name"]}`, parameter);
    }
  }
  const body = operation["requestBody"];
  return {
    method: method.toUpperCase(),
    path,
    place: `#/paths/${path.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    operationId: typeof operation["operationId"] === "string"
      ? operation["operationId"]
      : undefined,
    parameters: [...found.values()],
    content: body === undefined
      ? content
      : objectOf(follow(root, body)["content"]),
  };
}

/** Follows local references; those into other documents lead to an empty object. */
function follow(root: JsonObject, value: unknown): JsonObject {
  let found = objectOf(value);
  for (let steps = 0; steps < 16; steps++) {
    const { $ref } = found;
    if (typeof $ref !== "string") return found;
    let target: unknown = $ref.startsWith("#") ? root : undefined;
    for (const segment of $ref.split("/").slice(1)) {
      const name = decodeURIComponent(segment).replaceAll("~1", "/")
        .replaceAll("~0", "~");
      target = Array.isArray(target)
        ? target[Number(name)]
        : objectOf(target)[name];
    }
    found = objectOf(target);
  }
  return {};
}

/** Returns an object; an empty one for everything else. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
