import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import { parseExactJson } from "../../../../src/base/json/exact_json.ts";
import { createRestRequest } from "../../../../src/mcp/openapi/calls/rest_request.ts";
import { ArgumentError } from "../../../../src/mcp/openapi/calls/value_styles.ts";
import { convertDocument } from "../../../../src/mcp/openapi/document/convert_document.ts";

const decoder = new TextDecoder();

/** Creates the request of the only operation of a document. */
function requestOf(
  path: string,
  operation: object,
  args: JsonObject,
  options: { credential?: string; components?: object } = {},
) {
  const { tools: [tool] } = convertDocument(
    JSON.stringify({
      openapi: "3.0.3",
      paths: { [path]: { post: { responses: {}, ...operation } } },
      components: options.components,
    }),
    { include: undefined, exclude: undefined },
  );
  assert(tool !== undefined);
  const { target, headers, body } = createRestRequest(
    tool.call,
    args,
    "/base",
    options.credential,
    () => "boundary",
  );
  return {
    target,
    headers: Object.fromEntries(headers.slice(1)),
    ...(body !== undefined && { body: decoder.decode(body) }),
  };
}

const values = {
  text: "blue",
  list: ["blue", "black"],
  object: { R: 100, G: 200 },
};

/** The table of OpenAPI 3.1 section 4.8.12.3: style, explode, and its strings for `text`, `list` and `object`; its last column is in the order of `object`. */
const styles: readonly (readonly [
  location: string,
  style: string,
  explode: boolean,
  text: string,
  list: string,
  object: string,
])[] = [
  ["path", "simple", false, "blue", "blue,black", "R,100,G,200"],
  ["path", "simple", true, "blue", "blue,black", "R=100,G=200"],
  ["path", "label", false, ".blue", ".blue,black", ".R,100,G,200"],
  ["path", "label", true, ".blue", ".blue.black", ".R=100.G=200"],
  ["path", "matrix", false, ";v=blue", ";v=blue,black", ";v=R,100,G,200"],
  ["path", "matrix", true, ";v=blue", ";v=blue;v=black", ";R=100;G=200"],
  ["query", "form", false, "v=blue", "v=blue,black", "v=R,100,G,200"],
  ["query", "form", true, "v=blue", "v=blue&v=black", "R=100&G=200"],
  [
    "query",
    "spaceDelimited",
    false,
    "v=blue",
    "v=blue%20black",
    "v=R%20100%20G%20200",
  ],
  [
    "query",
    "pipeDelimited",
    false,
    "v=blue",
    "v=blue%7Cblack",
    "v=R%7C100%7CG%7C200",
  ],
];

for (const [location, style, explode, ...expected] of styles) {
  Deno.test(`${location} parameters of style ${style}${explode ? ", exploded," : ""} are written as the specification says`, () => {
    const parameter = { name: "v", in: location, style, explode, schema: {} };
    const isPath = location === "path";
    const path = isPath ? "/a/{v}" : "/a";

    const targets = Object.values(values).map((v) =>
      requestOf(path, { parameters: [parameter] }, { v }).target
    );

    const before = isPath ? "/base/a/" : "/base/a?";
    assert.deepEqual(targets, expected.map((text) => before + text));
  });
}

Deno.test("the fragment of a path is not sent, and its query stays one", () => {
  const parameters = [
    { name: "id", in: "path", required: true, schema: {} },
    { name: "q", in: "query", schema: {} },
  ];

  const { target } = requestOf("/a/{id}?beta=true#share", { parameters }, {
    id: "x?y",
    q: 1,
  });

  assert.equal(target, "/base/a/x%3Fy?beta=true&q=1");
});

Deno.test("deep objects have names that frameworks read", () => {
  const { target } = requestOf("/a", {
    parameters: [{ name: "f", in: "query", style: "deepObject", schema: {} }],
  }, { f: { a: 1, b: { c: "x y" }, d: [1, 2] } });

  assert.equal(
    decodeURIComponent(target),
    "/base/a?f[a]=1&f[b][c]=x y&f[d][]=1&f[d][]=2",
  );
});

Deno.test("lists of deep objects are lists for frameworks, and the parts of an item stay together", () => {
  const { target } = requestOf("/a", {
    parameters: ["expand", "items"].map((name) => ({
      name,
      in: "query",
      style: "deepObject",
      explode: true,
      schema: { type: "array" },
    })),
  }, {
    expand: ["data", "owner"],
    items: [{ price: "a", tags: ["x"] }, { price: "b" }],
  });

  assert.equal(
    decodeURIComponent(target),
    "/base/a?expand[]=data&expand[]=owner" +
      "&items[0][price]=a&items[0][tags][]=x&items[1][price]=b",
  );
});

Deno.test("values are encoded, and lead to no other path, query or header", () => {
  const operation = {
    parameters: [
      { name: "p", in: "path", required: true, schema: {} },
      { name: "q", in: "query", schema: {} },
      { name: "r", in: "query", allowReserved: true, schema: {} },
      { name: "X-H", in: "header", schema: {} },
      { name: "c", in: "cookie", schema: {} },
      {
        name: "j",
        in: "query",
        content: { "application/json": { schema: {} } },
      },
    ],
  };
  const args = parseExactJson(
    '{"p": "a/b?c#d%2e", "q": "x&y=z+ü", "r": "a/b&c#d", "X-H": [1, true], "c": "a;b", "j": {"a": 12345678901234567890}}',
  );

  assert.deepEqual(requestOf("/a/{p}", operation, Object(args)), {
    target:
      "/base/a/a%2Fb%3Fc%23d%252e?q=x%26y%3Dz%2B%C3%BC&r=a/b%26c%23d&j=%7B%22a%22%3A12345678901234567890%7D",
    headers: { "X-H": "1,true", cookie: "c=a%3Bb" },
  });

  const reject = (args: JsonObject, message: RegExp) =>
    assert.throws(
      () => requestOf("/a/{p}", operation, args),
      (error) => error instanceof ArgumentError && message.test(error.message),
    );
  reject({ p: ".." }, /"\."/);
  reject({ p: "." }, /"\."/);
  reject({ p: "" }, /"p" must not be empty/);
  reject({}, /^Missing arguments: p$/);
  reject(
    { p: "a", x: 1, constructor: 2 },
    /^Unknown arguments: x, constructor$/,
  );
  reject({ p: "a", "X-H": "a\r\nb: c" }, /header field/);
  reject({ p: "a".repeat(20_000) }, /too long/);
});

Deno.test("bodies are JSON, forms, forms with files, text or bytes, as the document says", () => {
  const body = (mediaType: string, schema: object, encoding?: object) => ({
    requestBody: { content: { [mediaType]: { schema, encoding } } },
  });
  const send = (operation: object, value: unknown) => {
    const { headers, body } = requestOf("/a", operation, { body: value });
    return [headers["content-type"], body];
  };

  assert.deepEqual(send(body("application/vnd.a+json", {}), { a: [1] }), [
    "application/vnd.a+json",
    '{"a":[1]}',
  ]);
  assert.deepEqual(
    send(
      body(
        "application/x-www-form-urlencoded",
        { type: "object", properties: { meta: { type: "object" } } },
        { meta: { style: "deepObject", explode: true } },
      ),
      {
        name: "a b&c",
        tags: ["x", "y"],
        meta: { k: "v" },
        plain: { k: 1 },
        none: null,
      },
    ),
    [
      "application/x-www-form-urlencoded",
      "name=a%20b%26c&tags=x&tags=y&meta%5Bk%5D=v&plain=%7B%22k%22%3A1%7D",
    ],
  );
  assert.deepEqual(send(body("text/plain", { type: "string" }), "hello"), [
    "text/plain",
    "hello",
  ]);
  assert.deepEqual(send(body("image/png", {}), btoa("bytes")), [
    "image/png",
    "bytes",
  ]);
  assert.deepEqual(
    send(
      body("multipart/form-data", {
        type: "object",
        properties: { file: { type: "string", format: "binary" } },
      }),
      { file: btoa("content"), 'a"b': { x: 1 }, n: 5 },
    ),
    [
      "multipart/form-data; boundary=boundary",
      [
        "--boundary",
        'Content-Disposition: form-data; name="file"; filename="file"',
        "Content-Type: application/octet-stream",
        "",
        "content",
        "--boundary",
        'Content-Disposition: form-data; name="a%22b"',
        "Content-Type: application/json",
        "",
        '{"x":1}',
        "--boundary",
        'Content-Disposition: form-data; name="n"',
        "",
        "5",
        "--boundary--",
        "",
      ].join("\r\n"),
    ],
  );
  assert.throws(
    () => send(body("image/png", {}), "not base64!"),
    /"body" must be base64/,
  );
});

Deno.test("the credential is where the document wants it", () => {
  const send = (scheme: object, credential = "k:ü") => {
    const components = { securitySchemes: { s: scheme } };
    const operation = { security: [{ s: [] }] };
    const { target, headers } = requestOf("/a", operation, {}, {
      credential,
      components,
    });
    return [target, headers];
  };

  assert.deepEqual(send({ type: "apiKey", in: "header", name: "X-Key" }), [
    "/base/a",
    { "X-Key": "k:ü" },
  ]);
  assert.deepEqual(send({ type: "apiKey", in: "query", name: "key" }), [
    "/base/a?key=k%3A%C3%BC",
    {},
  ]);
  assert.deepEqual(send({ type: "apiKey", in: "cookie", name: "sid" }), [
    "/base/a",
    { cookie: "sid=k%3A%C3%BC" },
  ]);
  assert.deepEqual(send({ type: "oauth2", flows: {} }), [
    "/base/a",
    { authorization: "Bearer k:ü" },
  ]);
  assert.deepEqual(send({ type: "http", scheme: "basic" }, "user"), [
    "/base/a",
    { authorization: `Basic ${btoa("user:")}` },
  ]);
  // A header that delimits messages is nothing for a credential.
  assert.deepEqual(send({ type: "apiKey", in: "header", name: "Host" }), [
    "/base/a",
    {},
  ]);
});
