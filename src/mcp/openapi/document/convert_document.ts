import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type {
  ConvertedDocument,
  OperationSelection,
  RestCall,
  RestTool,
} from "./rest_tool.ts";
import {
  DocumentError,
  type Located,
  OpenApiDocument,
  placeOf,
} from "./openapi_document.ts";
import { type DocumentedBody, readBody } from "./operation_body.ts";
import { isSelected, type SelectedOperation } from "./operation_filter.ts";
import {
  type DocumentedParameter,
  readParameters,
} from "./operation_parameters.ts";
import {
  type DocumentedResults,
  readResults,
  unknownResults,
} from "./operation_results.ts";
import { SchemaBundles } from "./schema_bundles.ts";
import { SecuritySchemes } from "./security.ts";

const methods = ["get", "put", "post", "delete", "head", "patch"] as const;

/** Limits of a document. */
const MAX_TOOLS = 10_000;
const MAX_DESCRIPTION = 1024;
/** All schemas of a list, and those of one tool. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;
const MIN_SCHEMA_BYTES = 4096;
const MAX_SCHEMA_BYTES = 32 * 1024;
const HASH_LENGTH = 8;
const targetPattern = /^[\w.~!$&'()*+,;=:@/?%-]+$/;

/** An operation that becomes a tool. */
interface Operation extends SelectedOperation {
  readonly pathItem: Located;
  readonly located: Located;
}

/** Converts an OpenAPI document, JSON or YAML, to tools. @throws {DocumentError} When the document as a whole cannot be used. */
export function convertDocument(
  text: string,
  { include, exclude }: OperationSelection,
): ConvertedDocument {
  const document = OpenApiDocument.parse(text);
  const selected = withUniqueNames(listOperations(document))
    .filter((operation) => isSelected(operation, include, exclude));
  if (selected.length > MAX_TOOLS) {
    throw new DocumentError(
      `it has more than ${MAX_TOOLS} operations; select some with "include"`,
    );
  }
  const converter = new OperationConverter(document, selected.length);
  const tools = selected.flatMap((operation) =>
    document.reporting(
      operation.located.place,
      () => [converter.convert(operation)],
    )
  );
  const { info } = document.root;
  const { title, description } = isJsonObject(info) ? info : {};
  return {
    title: textOf(title),
    description: shorten(textOf(description)),
    tools,
    problems: document.problems,
  };
}

function listOperations(document: OpenApiDocument): readonly Operation[] {
  const { paths } = document.root;
  if (!isJsonObject(paths)) return [];
  return Object.entries(paths).flatMap(([path, value]) => {
    const place = placeOf("#/paths", path);
    if (path.startsWith("x-")) return [];
    return document.reporting(place, () => {
      if (!path.startsWith("/")) {
        throw new DocumentError('the path does not begin with "/"');
      }
      const pathItem = document.resolve(value, place);
      return methods.filter((method) => pathItem.value[method] !== undefined)
        .flatMap((method) =>
          document.reporting(
            placeOf(place, method),
            () => [readOperation(document, path, method, pathItem)],
          )
        );
    });
  });
}

function readOperation(
  document: OpenApiDocument,
  path: string,
  method: string,
  pathItem: Located,
): Operation {
  const located = document.resolve(
    pathItem.value[method],
    placeOf(pathItem.place, method),
  );
  const { operationId, tags } = located.value;
  const id = typeof operationId === "string" ? operationId : undefined;
  return {
    name: nameOf(id ?? `${method} ${path}`),
    operationId: id,
    method: method.toUpperCase(),
    path,
    tags: Array.isArray(tags)
      ? tags.filter((tag) => typeof tag === "string")
      : [],
    pathItem,
    located,
  };
}

function nameOf(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|_+$/g, "") ||
    "operation";
}

/** Adds a hash of the method and the path to names that several operations have, so that names do not depend on the order. */
function withUniqueNames(
  operations: readonly Operation[],
): readonly Operation[] {
  const counts = new Map<string, number>();
  for (const { name } of operations) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return operations.map((operation) => {
    const { name, method, path } = operation;
    if (counts.get(name) === 1) return operation;
    const hash = createHash("sha256").update(`${method} ${path}`).digest("hex");
    return { ...operation, name: `${name}_${hash.slice(0, HASH_LENGTH)}` };
  });
}

class OperationConverter {
  readonly #document: OpenApiDocument;
  readonly #bundles: SchemaBundles;
  readonly #schemes: SecuritySchemes;
  readonly #maxBytes: number;

  constructor(document: OpenApiDocument, operations: number) {
    this.#document = document;
    this.#bundles = new SchemaBundles(document);
    this.#schemes = new SecuritySchemes(document);
    this.#maxBytes = Math.min(
      MAX_SCHEMA_BYTES,
      Math.max(MIN_SCHEMA_BYTES, MAX_LIST_BYTES / Math.max(1, operations)),
    );
  }

  /** @throws {DocumentError} */
  convert(operation: Operation): RestTool {
    const { name, method, path, pathItem, located } = operation;
    const parameters = readParameters(
      this.#document,
      pathItem,
      located,
      this.#schemes.all,
    );
    checkPath(path, parameters);
    const taken = new Set(parameters.map(({ request }) => request.argument));
    const body = readBody(this.#document, located, taken);
    const results = this.#resultsOf(located);
    // Some documents tell operations apart by a fragment or a query.
    const [template = "", query = ""] = (path.split("#")[0] ?? "").split("?");
    const call: RestCall = {
      method,
      path: template,
      query: targetPattern.test(query) ? query : "",
      parameters: parameters.map(({ request }) => request),
      body: body?.request,
      security: this.#schemes.placesOf(located.value),
      accept: results.accept,
      promised: results.promised,
    };
    const { summary } = located.value;
    return {
      definition: {
        name,
        ...(textOf(summary) !== "" && { title: textOf(summary) }),
        description: describe(operation),
        inputSchema: this.#inputSchema(parameters, body),
        ...(results.schema !== undefined && { outputSchema: results.schema }),
        annotations: annotationsOf(method),
      },
      call,
    };
  }

  /** A tool works without a description of its results. */
  #resultsOf(operation: Located): DocumentedResults {
    try {
      const maxBytes = this.#maxBytes / 2;
      return readResults(this.#document, this.#bundles, operation, maxBytes);
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      const message = `the tool has no outputSchema: ${error.message}`;
      this.#document.report(placeOf(operation.place, "responses"), message);
      return unknownResults;
    }
  }

  #inputSchema(
    parameters: readonly DocumentedParameter[],
    body: DocumentedBody | undefined,
  ): JsonObject {
    const fields = body === undefined ? parameters : [...parameters, body];
    return this.#bundles.bundle("input", this.#maxBytes, (convert) => ({
      type: "object",
      properties: Object.fromEntries(
        fields.map(({ request, schema, schemaPlace, description }) => [
          request.argument,
          withDescription(convert(schema, schemaPlace), description),
        ]),
      ),
      required: fields.filter(({ request }) => request.isRequired)
        .map(({ request }) => request.argument),
      additionalProperties: false,
    }));
  }
}

/** @throws {DocumentError} For a variable of the path without a parameter. */
function checkPath(
  path: string,
  parameters: readonly DocumentedParameter[],
): void {
  for (const [, name = ""] of path.matchAll(/\{([^{}]*)\}/g)) {
    const isKnown = parameters.some(({ request }) =>
      request.in === "path" && request.name === name
    );
    if (!isKnown) {
      throw new DocumentError(
        `the path has "{${name}}", but no such parameter`,
      );
    }
  }
}

function describe({ method, path, located }: Operation): string {
  const { summary, description, deprecated } = located.value;
  const texts = [
    deprecated === true ? "Deprecated." : "",
    textOf(description) || textOf(summary) || `${method} ${path}`,
  ];
  return shorten(texts.filter((text) => text !== "").join(" "));
}

/** RFC 9110 sections 9.2.1 and 9.2.2. */
function annotationsOf(method: string): JsonObject {
  const isSafe = method === "GET" || method === "HEAD";
  return {
    readOnlyHint: isSafe,
    ...(!isSafe && {
      destructiveHint: method !== "POST",
      idempotentHint: method === "PUT" || method === "DELETE",
    }),
    openWorldHint: true,
  };
}

function withDescription(
  schema: unknown,
  description: string | undefined,
): unknown {
  return description === undefined || !isJsonObject(schema)
    ? schema
    : { ...schema, description: shorten(description) };
}

function shorten(text: string): string {
  return text.length > MAX_DESCRIPTION
    ? `${text.slice(0, MAX_DESCRIPTION - 1).toWellFormed()}…`
    : text;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}
