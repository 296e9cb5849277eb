import assert from "node:assert/strict";
import type { HeaderModifier } from "../../../../src/api/rules/http_filter.ts";
import {
  checkRequestHeaderModifier,
  checkResponseHeaderModifier,
  createRequestHeaderModifier,
  createResponseHeaderModifier,
} from "../../../../src/policy/http/header_modifier.ts";
import { context, headersOf, response } from "../exchange.ts";

// Gateway API, HTTPHeaderFilter.
const cases: {
  quote: string;
  input: Record<string, string>;
  config: HeaderModifier;
  output: Record<string, string>;
}[] = [
  {
    quote: "Set overwrites the request with the given header (name, value)",
    input: { "my-header": "foo" },
    config: { set: [{ name: "My-Header", value: "bar" }] },
    output: { "my-header": "bar" },
  },
  {
    quote: "Set adds a header that is not there",
    input: {},
    config: { set: [{ name: "My-Header", value: "bar" }] },
    output: { "my-header": "bar" },
  },
  {
    quote: "It appends to any existing values associated with the header name",
    input: { "my-header": "foo" },
    config: { add: [{ name: "my-header", value: "bar,baz" }] },
    output: { "my-header": "foo, bar,baz" },
  },
  {
    quote:
      "Remove the given header(s) […] the header names are case-insensitive",
    input: { "my-header1": "foo", "My-Header2": "bar", "my-header3": "baz" },
    config: { remove: ["My-Header1", "my-header3"] },
    output: { "my-header2": "bar" },
  },
];
for (const { quote, input, config, output } of cases) {
  Deno.test(`request header modifier: "${quote}"`, async () => {
    const on = context({ headers: input });
    await createRequestHeaderModifier(config).onRequest?.(on);
    assert.deepEqual(headersOf(on.request), output);
  });

  Deno.test(`response header modifier: "${quote}"`, async () => {
    const result = response(input);
    await createResponseHeaderModifier(config).onResponse?.(
      context({}),
      result,
    );
    assert.deepEqual(headersOf(result), output);
  });
}

// CGI and WSGI read `X_User` as `X-User`, and PHP `X.User`.
const spellings: {
  title: string;
  input: Record<string, string>;
  config: HeaderModifier;
  output: Record<string, string>;
}[] = [
  {
    title: "leaves no other spelling of a header that it sets",
    input: {
      "x_user": "mallory",
      "x.user": "mallory",
      "x~user": "mallory",
      "x-team": "kept",
      "my_other": "kept",
    },
    config: { set: [{ name: "X-User", value: "anna" }] },
    output: { "x-user": "anna", "x-team": "kept", "my_other": "kept" },
  },
  {
    title: "removes other spellings of a header",
    input: { "x_user-id": "mallory" },
    config: { remove: ["X-User-ID"] },
    output: {},
  },
  {
    title: "replaces a dash by its own underscore",
    input: { "x-user": "mallory" },
    config: { set: [{ name: "x_user", value: "anna" }] },
    output: { "x_user": "anna" },
  },
];
for (const { title, input, config, output } of spellings) {
  Deno.test(`request header modifier ${title}`, async () => {
    const on = context({ headers: input });
    await createRequestHeaderModifier(config).onRequest?.(on);
    assert.deepEqual(headersOf(on.request), output);
  });
}

Deno.test("request header modifier takes Host for the authority", async () => {
  const on = context({});
  const config = {
    set: [{ name: "Host", value: "llm.example:8080" }, {
      name: "x",
      value: "1",
    }],
  };
  await createRequestHeaderModifier(config).onRequest?.(on);
  assert.equal(on.request.authority, "llm.example:8080");
  assert.deepEqual(headersOf(on.request), { x: "1" });
});

const refused: {
  config: HeaderModifier;
  path: (string | number)[];
  message: string;
}[] = [
  {
    config: {
      set: [{ name: "x", value: "1" }, { name: "Content-Length", value: "1" }],
    },
    path: ["set", 1],
    message: 'Cannot set header "Content-Length": the gateway writes it itself',
  },
  {
    config: { add: [{ name: "transfer-encoding", value: "chunked" }] },
    path: ["add", 0],
    message:
      'Cannot add header "transfer-encoding": the gateway writes it itself',
  },
  {
    config: { remove: ["Connection"] },
    path: ["remove", 0],
    message: 'Cannot remove header "Connection": the gateway writes it itself',
  },
  {
    config: { remove: ["Host"] },
    path: ["remove", 0],
    message: 'Cannot remove header "Host": the gateway writes it itself',
  },
  {
    config: { set: [{ name: "x", value: "1" }], remove: ["X"] },
    path: ["remove", 0],
    message:
      'Cannot remove header "X": a modifier can have only one action for each header',
  },
  {
    config: { set: [{ name: "x", value: "日" }] },
    path: ["set", 0, "value"],
    message:
      'Cannot set header "x": the value holds characters that a header cannot have',
  },
];
for (const { config, path, message } of refused) {
  Deno.test(`header modifiers say: ${message}`, () => {
    assert.deepEqual(checkRequestHeaderModifier(config), [{ path, message }]);
    assert.deepEqual(checkResponseHeaderModifier(config), [{ path, message }]);
  });
}

for (const value of ["a b", "llm.example:70000"]) {
  Deno.test(`request header modifier rejects the Host "${value}"`, () => {
    const config = { set: [{ name: "Host", value }] };

    assert.deepEqual(checkRequestHeaderModifier(config), [{
      path: ["set", 0, "value"],
      message:
        `Cannot set header "Host": expected a host with an optional port, got "${value}"`,
    }]);
  });
}

Deno.test("response header modifier rejects Host", () => {
  const [problem] = checkResponseHeaderModifier({
    set: [{ name: "Host", value: "a" }],
  });
  assert.equal(
    problem?.message,
    'Cannot set header "Host": the gateway writes it itself',
  );
});
