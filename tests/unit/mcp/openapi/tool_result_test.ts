import assert from "node:assert/strict";
import {
  type RestResponse,
  resultOf,
} from "../../../../src/mcp/openapi/calls/tool_result.ts";
import type { RestCall } from "../../../../src/mcp/openapi/document/rest_tool.ts";

const call: RestCall = {
  method: "GET",
  path: "/",
  query: "",
  parameters: [],
  body: undefined,
  security: [],
  accept: "*/*",
  promised: "object",
};

function responseOf(
  text: string,
  mediaType = "application/json",
  options: Partial<RestResponse> = {},
): RestResponse {
  const bytes = new TextEncoder().encode(text);
  return { status: 200, mediaType, bytes, isCut: false, ...options };
}

Deno.test("JSON is text and structured content, with the digits of its numbers", () => {
  const text = '{"id":12345678901234567890}';

  const result = resultOf(call, responseOf(text));

  assert.deepEqual(result["content"], [{ type: "text", text }]);
  assert.equal(JSON.stringify(result["structuredContent"]), text);
});

Deno.test("an error of the API is a result that models can read", () => {
  assert.deepEqual(
    resultOf(
      call,
      responseOf('{"error":"no such pet"}', "application/json", {
        status: 404,
      }),
    ),
    {
      content: [{ type: "text", text: 'HTTP 404\n{"error":"no such pet"}' }],
      isError: true,
    },
  );
  const redirect = resultOf(call, responseOf("", "", { status: 302 }));
  assert.match(JSON.stringify(redirect), /does not follow redirects/);
  const long = resultOf(
    call,
    responseOf("x".repeat(1e6), "text/plain", { status: 500 }),
  );
  assert(JSON.stringify(long).length < 10_000);
});

Deno.test("a large answer is cut so that it stays JSON, with a note", () => {
  const items = Array.from({ length: 5000 }, (_, id) => ({
    id,
    text: "x".repeat(100),
  }));

  const { content, structuredContent } = resultOf(
    call,
    responseOf(JSON.stringify({ items, total: 5000 })),
  );

  const [first, note] = Array.isArray(content) ? content : [];
  assert(first.text.length <= 128 * 1024, String(first.text.length));
  assert.deepEqual(JSON.parse(first.text), structuredContent);
  assert.equal(Object(structuredContent)["total"], 5000);
  assert(Object(structuredContent)["items"].length > 100);
  assert.match(note.text, /was cut: lists and long strings are shortened/);
});

Deno.test("a response without JSON keeps the promise of structured content", () => {
  assert.deepEqual(resultOf(call, responseOf("", "", { status: 204 })), {
    content: [{ type: "text", text: "HTTP 204, without content" }],
    structuredContent: {},
  });
  const cut = resultOf(
    call,
    responseOf('{"a": [1, 2', "application/json", { isCut: true }),
  );
  assert.deepEqual(cut["structuredContent"], {});
  assert.match(
    JSON.stringify(cut),
    /more than 1 KB and was cut: the end is missing/,
  );
});

Deno.test("a response of another type than the document says keeps the promise, and is text", () => {
  for (const body of ["null", "[1]", "12345678901234567890", '"x"']) {
    assert.deepEqual(resultOf(call, responseOf(body, "application/json")), {
      content: [{ type: "text", text: body }],
      structuredContent: {},
    });
  }
  const listed = { ...call, promised: "array" } as const;
  const one = resultOf(listed, responseOf('{"a":1}', "application/json"));
  assert.deepEqual(one["structuredContent"], []);
  const image = resultOf(call, responseOf("png", "image/png"));
  assert.deepEqual(image["structuredContent"], {});
});

Deno.test("text, images and other bytes are content of their kind", () => {
  const plain = { ...call, promised: undefined };

  const contentOf = (text: string, type: string) =>
    resultOf(plain, responseOf(text, type))["content"];

  assert.deepEqual(contentOf("<a/>", "application/xml"), [
    { type: "text", text: "<a/>" },
  ]);
  assert.deepEqual(contentOf("png", "image/png"), [
    { type: "image", data: btoa("png"), mimeType: "image/png" },
  ]);
  assert.deepEqual(contentOf("pdf", "application/pdf"), [{
    type: "resource",
    resource: {
      uri: "response:body",
      mimeType: "application/pdf",
      blob: btoa("pdf"),
    },
  }]);
});
