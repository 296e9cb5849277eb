import assert from "node:assert/strict";
import { convertDocument } from "../../../../src/mcp/openapi/document/convert_document.ts";
import type { OperationSelection } from "../../../../src/mcp/openapi/document/rest_tool.ts";
import { DocumentError } from "../../../../src/mcp/openapi/document/openapi_document.ts";

const everything: OperationSelection = {
  include: undefined,
  exclude: undefined,
};

/** Converts a document of which only the parts matter. */
function convert(parts: object, selection = everything) {
  const document = {
    openapi: "3.0.3",
    info: { title: "Pets", version: "1" },
    ...parts,
  };
  return convertDocument(JSON.stringify(document), selection);
}

function definitionOf(parts: object) {
  const { tools: [tool] } = convert(parts);
  assert(tool !== undefined);
  return tool.definition;
}

const ok = { responses: { 200: { description: "ok" } } };

Deno.test("an operation becomes a tool, from JSON and from YAML", () => {
  const yaml = `
openapi: 3.1.0
info: { title: Pets, description: All pets., version: "1" }
paths:
  /pets/{id}:
    parameters:
      - { name: id, in: path, required: true, schema: { type: integer } }
    get:
      operationId: pets/get-one
      summary: Get a pet
      parameters:
        - { name: fields, in: query, description: Names of members., schema: { type: array, items: { type: string } } }
      responses:
        "200":
          description: ok
          content:
            application/json:
              schema: { type: object, properties: { name: { type: string } }, required: [name] }
`;

  const { title, description, tools, problems } = convertDocument(
    yaml,
    everything,
  );

  assert.deepEqual([title, description, problems], ["Pets", "All pets.", []]);
  assert.deepEqual(tools.map(({ definition }) => definition), [{
    name: "pets_get-one",
    title: "Get a pet",
    description: "Get a pet",
    inputSchema: {
      type: "object",
      properties: {
        id: { type: "integer" },
        fields: {
          type: "array",
          items: { type: "string" },
          description: "Names of members.",
        },
      },
      required: ["id"],
      additionalProperties: false,
    },
    // APIs are less strict than their documents: clients must not reject their results.
    outputSchema: {
      type: "object",
      properties: { name: { type: ["string", "null"] } },
    },
    annotations: { readOnlyHint: true, openWorldHint: true },
  }]);
});

Deno.test("references become $defs, also those of cycles, and are never inlined", () => {
  const schemas: Record<string, unknown> = {
    Node: {
      type: "object",
      properties: {
        next: { $ref: "#/components/schemas/Node" },
        id: { type: "string", readOnly: true },
        size: { type: "integer", minimum: 0, exclusiveMinimum: true },
        note: { type: "string", nullable: true },
      },
      required: ["id", "next"],
    },
  };
  // Inlining these would make a schema of 2 ** 20 parts.
  for (let i = 0; i < 20; i++) {
    const next = i === 19
      ? { $ref: "#/components/schemas/Node" }
      : { $ref: `#/components/schemas/L${i + 1}` };
    schemas[`L${i}`] = {
      allOf: [{ type: "object", properties: { a: next, b: next } }],
    };
  }

  const { inputSchema } = definitionOf({
    paths: {
      "/nodes": {
        post: {
          ...ok,
          requestBody: {
            content: {
              "application/json": {
                schema: { $ref: "#/components/schemas/L0" },
              },
            },
          },
        },
      },
    },
    components: { schemas },
  });

  assert(JSON.stringify(inputSchema).length < 4000);
  const { properties, $defs } = Object(inputSchema);
  assert.deepEqual(properties, { body: { $ref: "#/$defs/L0" } });
  assert.deepEqual($defs["Node"], {
    type: "object",
    properties: {
      next: { $ref: "#/$defs/Node" },
      size: { type: "integer", exclusiveMinimum: 0 },
      note: { type: ["string", "null"] },
    },
    required: ["next"],
  });
});

Deno.test("schemas of one tool have a limit, beyond which definitions are stubs", () => {
  const schemas = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [`S${i}`, {
      type: "object",
      description: "d".repeat(1000),
      properties: { next: { $ref: `#/components/schemas/S${i + 1}` } },
    }]),
  );

  const { inputSchema } = definitionOf({
    paths: {
      "/a": {
        post: {
          ...ok,
          requestBody: {
            content: {
              "application/json": {
                schema: { $ref: "#/components/schemas/S0" },
              },
            },
          },
        },
      },
    },
    components: { schemas: { ...schemas, S100: { type: "string" } } },
  });

  const text = JSON.stringify(inputSchema);
  assert(text.length < 36_000, String(text.length));
  const names = Object.keys(Object(inputSchema)["$defs"]);
  const stub = names.at(-1) ?? "";
  assert.deepEqual(Object(inputSchema)["$defs"][stub], {
    description: "Not described here.",
  });
});

Deno.test("names do not depend on the order of operations, and no two are the same", () => {
  const get = { ...ok, operationId: "list" };
  const paths = {
    "/a": { get },
    "/b": { get },
    "/c/{x}": {
      delete: {
        ...ok,
        parameters: [{ name: "x", in: "path", schema: { type: "string" } }],
      },
    },
  };
  const reversed = Object.fromEntries(Object.entries(paths).reverse());

  const names = (of: object) =>
    convert({ paths: of }).tools.map(({ definition: { name } }) => name);

  assert.deepEqual(names(paths).slice(2), ["delete_c_x"]);
  assert.match(names(paths)[0] ?? "", /^list_[0-9a-f]{8}$/);
  assert.deepEqual(names(reversed).toReversed(), names(paths));
});

Deno.test("patterns of names, paths and tags select operations", () => {
  const operation = (operationId: string, tag: string) => ({
    ...ok,
    operationId,
    tags: [tag],
  });
  const paths = {
    "/pets": {
      get: operation("pets/list", "pets"),
      post: operation("pets/add", "pets"),
    },
    "/users": { get: operation("users/list", "users") },
    "/admin/keys": { get: operation("keys/list", "admin") },
  };
  const select = (
    include: OperationSelection["include"],
    exclude?: OperationSelection["exclude"],
  ) =>
    convert({ paths }, { include, exclude }).tools.map((
      { definition: { name } },
    ) => name);

  assert.deepEqual(select(["pets/*"]), ["pets_list", "pets_add"]);
  assert.deepEqual(select(["pets_add"]), ["pets_add"]);
  assert.deepEqual(select(["GET /*s"]), [
    "pets_list",
    "users_list",
    "keys_list",
  ]);
  assert.deepEqual(select(["* /pets"]), ["pets_list", "pets_add"]);
  assert.deepEqual(select(["*list"], ["tag:admin", "users/list"]), [
    "pets_list",
  ]);
});

Deno.test("the credential of the gateway is no argument, wherever the document wants it", () => {
  const { tools: [keyed, open, basic] } = convert({
    security: [{ both: [], key: [] }, { key: [] }],
    paths: {
      "/keyed": {
        get: {
          ...ok,
          parameters: [
            { name: "api_key", in: "query", schema: { type: "string" } },
            { name: "Authorization", in: "header", schema: {} },
            { name: "Mcp-Session-Id", in: "header", schema: {} },
            { name: "x-page", in: "header", schema: {} },
          ],
        },
      },
      "/open": { get: { ...ok, security: [] } },
      "/basic": { get: { ...ok, security: [{ both: [] }] } },
    },
    components: {
      securitySchemes: {
        key: { type: "apiKey", in: "query", name: "api_key" },
        both: { type: "http", scheme: "Basic" },
      },
    },
  });

  assert.deepEqual(
    Object.keys(Object(keyed?.definition["inputSchema"])["properties"]),
    ["x-page"],
  );
  assert.deepEqual(keyed?.call.security, [{ in: "query", name: "api_key" }]);
  assert.deepEqual(open?.call.security, []);
  assert.deepEqual(basic?.call.security, [{ in: "basic" }]);
});

Deno.test("operations of Swagger 2.0 have bodies, also those that they share", () => {
  const { tools, problems } = convertDocument(
    JSON.stringify({
      swagger: "2.0",
      info: {},
      consumes: ["application/json"],
      paths: {
        "/a": { post: { ...ok, parameters: [{ $ref: "#/parameters/b" }] } },
        "/b": {
          post: {
            ...ok,
            parameters: [{ name: "x", in: "body", schema: { type: "object" } }],
          },
        },
      },
      parameters: {
        b: { name: "b", in: "body", schema: { type: "object" } },
      },
    }),
    everything,
  );

  assert.deepEqual(problems, []);
  assert.deepEqual(
    tools.map(({ call: { body } }) => [body?.argument, body?.form]),
    [["body", "json"], ["body", "json"]],
  );
});

Deno.test("parameters with the same name in two places are different arguments", () => {
  const { inputSchema } = definitionOf({
    paths: {
      "/a/{id}": {
        post: {
          ...ok,
          parameters: [
            { name: "id", in: "path", schema: { type: "string" } },
            { name: "id", in: "query", schema: { type: "string" } },
            { name: "body", in: "query", schema: { type: "string" } },
            { name: "filter[name]", in: "query", schema: { type: "string" } },
          ],
          requestBody: { content: { "application/json": { schema: {} } } },
        },
      },
    },
  });

  assert.deepEqual(Object.keys(Object(inputSchema)["properties"]), [
    "id",
    "id_query",
    "body",
    "filter_name_",
    "body_content",
  ]);
});

Deno.test("what cannot become a tool is left out with its place, and the rest stays", () => {
  const { tools, problems } = convert({
    paths: {
      "/ok": {
        get: { ...ok, parameters: [{ $ref: "#/components/parameters/p" }] },
      },
      "/a/{x}": { get: { ...ok, operationId: "noParameter" } },
      "/b": {
        get: { ...ok, parameters: [{ $ref: "#/components/parameters/none" }] },
      },
      "/c": {
        get: { ...ok, parameters: [{ $ref: "other.yaml#/p" }] },
      },
      "/d": { $ref: "#/paths/~1d" },
      "/e": { get: { $ref: "other.yaml#/e" }, put: ok },
      "f": { get: ok },
      "x-internal": true,
    },
    components: {
      parameters: {
        p: { name: "q", in: "query", schema: { $ref: "#/nowhere" } },
      },
    },
  });

  assert.deepEqual(tools.map(({ definition: { name } }) => name), [
    "get_ok",
    "put_e",
  ]);
  assert.deepEqual(problems, [
    {
      place: "#/paths/~1d",
      message: "the reference leads to itself",
    },
    {
      place: "#/paths/~1e/get",
      message:
        '"other.yaml#/e" is in another document; bundle the documents first',
    },
    { place: "#/paths/f", message: 'the path does not begin with "/"' },
    {
      place: "#/components/parameters/p/schema",
      message: '"#/nowhere" does not exist',
    },
    {
      place: "#/paths/~1a~1{x}/get",
      message: 'the path has "{x}", but no such parameter',
    },
    {
      place: "#/paths/~1b/get",
      message:
        '#/paths/~1b/get/parameters/0: "#/components/parameters/none" does not exist',
    },
    {
      place: "#/paths/~1c/get",
      message:
        '#/paths/~1c/get/parameters/0: "other.yaml#/p" is in another document; bundle the documents first',
    },
  ]);
});

Deno.test("a text that is no OpenAPI document is rejected with the reason", () => {
  const reject = (text: string, message: RegExp) =>
    assert.throws(() => convertDocument(text, everything), (error) => {
      assert(error instanceof DocumentError);
      assert.match(error.message, message);
      return true;
    });

  reject("{", /^it is not valid JSON: /);
  reject("a: [", /^it is not valid YAML: /);
  reject("just text", /^the document is not an object$/);
  reject('{"openapi": "4.0.0"}', /^"openapi" is missing or not supported/);
  reject("openapi: 3.0.0\npaths: []", /^"paths" is not an object$/);
  reject(`openapi: 3.1.0\nx: ${"[".repeat(300)}${"]".repeat(300)}`, /deep/);
});

Deno.test("a tool stays when the schema of its results cannot be read", () => {
  const schema = { $ref: "#/components/schemas/Nowhere" };
  const content = { "application/json": { schema } };
  const responses = { 200: { description: "", content } };
  const get = { operationId: "listPets", responses };
  const { tools, problems } = convert({ paths: { "/pets": { get } } });
  assert.deepEqual(tools.map(({ definition }) => definition["name"]), [
    "listPets",
  ]);
  assert.equal(tools[0]?.definition["outputSchema"], undefined);
  assert.equal(problems[0]?.place, "#/paths/~1pets/get/responses");
});
