import assert from "node:assert/strict";
import { BytesBody, textBody } from "../../../src/http/body.ts";
import { ChunkedBody } from "../../harness/clients/chunked_body.ts";
import { headersOf, response } from "./exchange.ts";
import {
  changeRequest,
  changeResponse,
  contextOf,
  maxBufferBytes,
  runBoth,
  set,
  textOf,
  transformation,
} from "./transformations.ts";

const long = "x".repeat(maxBufferBytes + 1);

Deno.test("a body is made of the old one, and what described that goes", async () => {
  const { body, headers } = await changeRequest({
    body: "toJson({'user': jwt.sub, 'query': json(request.body).query})",
  }, {
    method: "POST",
    claims: { sub: "anna" },
    body: '{"query":"a","secret":1}',
    headers: {
      "Content-Length": "24",
      "content-type": "application/json",
      etag: '"1"',
      "content-digest": "sha-256=:AA==:",
      "content-md5": "AA==",
      trailer: "x-sum",
    },
  });
  assert.equal(body, '{"user":"anna","query":"a"}');
  assert.deepEqual(headers, {
    "content-type": "application/json",
    "content-length": "27",
  });
});

Deno.test("a body is text in UTF-8, bytes as they are, or JSON", async () => {
  const bodies = await Promise.all(
    ["'ü'", "b'\\xc3\\xbc'", "{'a': [1, true]}", "''"].map(async (body) =>
      (await changeResponse({ body }, { body: "old" })).body
    ),
  );
  assert.deepEqual(bodies, ["ü", "ü", '{"a":[1,true]}', ""]);
});

Deno.test("a header is made of the body, which goes on untouched", async () => {
  const body = new ChunkedBody('{"mod', 'el":"m"}');
  const changed = await changeRequest(
    { set: set({ "x-model": "json(request.body).model" }) },
    { method: "POST", body },
  );
  assert.equal(changed.headers["x-model"], "m");
  assert.equal(changed.headers["content-length"], undefined);
  assert.equal(changed.body, '{"model":"m"}');
});

Deno.test("request['body'] and has(request.body) read it as well", async () => {
  const { headers } = await changeRequest({
    set: set({ "x-a": "request['body']", "x-b": "has(request.body)" }),
  }, { method: "POST", body: "text" });
  assert.equal(headers["x-a"], "text");
  assert.equal(headers["x-b"], "true");
});

Deno.test("a body that nobody reads is not touched", () => {
  const body = new ChunkedBody("a");
  const { policy } = transformation({
    request: { set: set({ "x-path": "request.path" }) },
    response: { set: set({ "x-code": "response.code" }) },
  });
  const on = contextOf({ method: "POST", body });
  const answer = { ...response(), body: new ChunkedBody("b") };
  const done = policy.onRequest?.(on);
  assert.equal(done, undefined);
  assert.equal(policy.onResponse?.(on, answer), undefined);
  assert.equal(on.request.body, body);
  assert.equal(body.reads + answer.body.reads, 0);
});

Deno.test("where there was no body, GET stays without and POST gets one", async () => {
  const changes = { body: "'new'" };
  assert.equal((await changeRequest(changes)).body, undefined);
  assert.equal((await changeRequest(changes, { method: "POST" })).body, "new");
  const toPost = { ...changes, set: set({ ":method": "'POST'" }) };
  assert.equal((await changeRequest(toPost)).body, "new");
  assert.equal((await changeRequest(changes, { body: "old" })).body, "new");
});

Deno.test("a body whose expression fails is empty, and the log warns of the first", async () => {
  const { policy, lines } = transformation({
    request: { body: "json(request.body).secret" },
  });
  const bodies: unknown[] = [];
  for (let i = 0; i < 2; i++) {
    const on = contextOf({ method: "POST", body: '{"key":"s3cret"}' });
    await policy.onRequest?.(on);
    bodies.push(await textOf(on.request.body));
    assert.equal(headersOf(on.request)["content-length"], "0");
  }
  assert.deepEqual(bodies, ["", ""]);
  const text =
    'A body was emptied: its expression has no value {"request.id":"test","error":"field not found: secret"}';
  assert.deepEqual(lines, [`warn ${text}`, `debug ${text}`]);
});

const unreadable: [string, Record<string, string>, Uint8Array][] = [
  ["compressed", { "content-encoding": "gzip" }, new Uint8Array([1])],
  ["no UTF-8", {}, new Uint8Array([0xff])],
  [
    "a stream of events",
    { "content-type": "text/event-stream; charset=utf-8" },
    new Uint8Array([65]),
  ],
  [
    "a stream of messages",
    { "content-type": "application/grpc+proto" },
    new Uint8Array([65]),
  ],
];
for (const [what, headers, bytes] of unreadable) {
  Deno.test(`a body that is ${what} is not read: headers go, the body stays`, async () => {
    const body = new BytesBody(bytes);
    const changed = await changeResponse({
      set: set({
        "x-a": "response.body",
        "x-b": "has(response.body)",
        "x-c": "'c'",
      }),
    }, { headers: { ...headers, "x-a": "old" }, body });
    assert.deepEqual(changed.headers, { ...headers, "x-c": "c" });
    assert.notEqual(changed.body, "");
  });

  Deno.test(`of what is ${what} no body is made`, async () => {
    const body = new BytesBody(bytes);
    const changed = await changeResponse({ body: "'got ' + response.body" }, {
      headers,
      body,
    });
    assert.equal(changed.body, "");
  });
}

Deno.test("an endless stream of events is not waited for", async () => {
  const body = Object.assign(new ChunkedBody(), {
    read: () => new Promise<never>(() => {}),
  });
  const { policy } = transformation({ response: { body: "response.body" } });
  const answer = {
    ...response({ "Content-Type": "Text/Event-Stream" }),
    body,
  };
  await runBoth(policy, contextOf({}), answer);
  assert.equal(await textOf(answer.body), "");
  assert.notEqual(body.cancelledWith[0], undefined);
});

for (
  const body of [long, new ChunkedBody("x".repeat(60), "y".repeat(60), "z")]
) {
  const kind = typeof body === "string" ? "announced" : "chunked";
  const whole = typeof body === "string"
    ? body
    : "x".repeat(60) + "y".repeat(60) + "z";

  Deno.test(`an ${kind} body that is too long goes on, without the headers made of it`, async () => {
    const changed = await changeRequest({
      set: set({ "x-a": "request.body", "x-b": "'b'" }),
    }, { method: "POST", body, headers: { "x-a": "old" } });
    assert.equal(changed.headers["x-a"], undefined);
    assert.equal(changed.headers["x-b"], "b");
    assert.equal(changed.body, whole);
  });
}

Deno.test("a new body that needs one that is too long is rejected", async () => {
  await assert.rejects(
    changeRequest({ body: "request.body" }, { method: "POST", body: long }),
    { code: "body_too_large" },
  );
  await assert.rejects(
    changeResponse({ body: "response.body" }, { body: long }),
    {
      code: "transformation_failed",
    },
  );
});

Deno.test("a new body that does not need the long one takes its place, which is given up", async () => {
  const old = new ChunkedBody(long);
  const { policy } = transformation({ response: { body: "'new'" } });
  const answer = { ...response(), body: old };
  await runBoth(policy, contextOf({}), answer);
  assert.equal(await textOf(answer.body), "new");
  assert.notEqual(old.cancelledWith[0], undefined);
  assert.equal(old.reads, 0);
});

Deno.test("a response is made of the request's body and MCP message, which are gone by then", async () => {
  const message = '{"jsonrpc":"2.0","method":"tools/list"}';
  const { policy } = transformation({
    response: {
      set: set({ "x-method": "mcp.methodName" }),
      body: "request.body",
    },
  });
  const on = contextOf({ method: "POST", body: message });
  await policy.onRequest?.(on);
  await textOf(on.request.body);
  on.request.body = undefined;
  const answer = { ...response(), body: textBody("old") };
  await policy.onResponse?.(on, answer);
  assert.equal(headersOf(answer)["x-method"], "tools/list");
  assert.equal(await textOf(answer.body), message);
});

const silent: [string, number, number][] = [
  ["HEAD", 200, 200],
  ["GET", 204, 204],
  ["GET", 304, 304],
  ["GET", 200, 204],
];
for (const [method, from, to] of silent) {
  Deno.test(`${method} answered with ${from} as ${to} gets no body and no stale length`, async () => {
    const changed = await changeResponse(
      { set: set({ ":status": `${to}` }), body: "'new'" },
      { status: from, headers: { "content-length": "3", etag: '"1"' } },
      { method },
    );
    assert.deepEqual(changed, { status: to, headers: {}, body: undefined });
  });
}

Deno.test("a connection that leaves HTTP keeps its status and gets no body", async () => {
  const on = contextOf({ body: "" });
  const { policy } = transformation({
    request: { body: "'new'" },
    response: {
      set: set({ ":status": "500", "x-a": "'a'" }),
      body: "'new' + response.body",
    },
  });
  const upgrade = {
    ...on,
    request: {
      ...on.request,
      method: "POST",
      body: undefined,
      upgrade: "websocket",
    },
  };
  const answer = {
    ...response({ upgrade: "websocket" }, 101),
    tunnel: { transport: {} as never, early: new Uint8Array() },
  };
  await runBoth(policy, upgrade, answer);
  assert.equal(upgrade.request.body, undefined);
  assert.equal(answer.status, 101);
  assert.equal(answer.body, undefined);
  assert.deepEqual(headersOf(answer), { upgrade: "websocket", "x-a": "a" });
});

Deno.test("a response that is to be read is requested whole and uncompressed", async () => {
  const headers = {
    "Accept-Encoding": "gzip, br",
    range: "bytes=0-1",
    "if-range": '"1"',
  };
  const remaining = await Promise.all([
    { set: set({ "x-a": "response.code" }) },
    { set: set({ "x-a": "response.body" }) },
    { body: "'new'" },
    { body: "response.body" },
  ].map(async (changes) => {
    const on = contextOf({ headers });
    await transformation({ response: changes }).policy.onRequest?.(on);
    return Object.keys(headersOf(on.request));
  }));
  assert.deepEqual(remaining, [
    ["accept-encoding", "range", "if-range"],
    ["range", "if-range"],
    ["accept-encoding"],
    [],
  ]);
});

Deno.test("a body that breaks off is an error of whoever sent it", async () => {
  const failure = new Error("cut short");
  const body = Object.assign(new ChunkedBody(), {
    read: () => Promise.reject(failure),
  });
  await assert.rejects(
    changeRequest({ body: "request.body" }, { method: "POST", body }),
    failure,
  );
});

for (
  const [charset, headers] of [
    ["utf-8", {}],
    ["utf-7", { "content-type": "'application/json; charset=utf-8'" }],
  ] as const
) {
  Deno.test(`a new body goes on where the client's charset was ${charset} and ${Object.keys(headers).length} headers are set`, async () => {
    const { body } = await changeRequest(
      { body: "'+ACI-'", set: set(headers) },
      {
        method: "POST",
        body: "a",
        headers: { "content-type": `application/json; charset=${charset}` },
      },
    );

    assert.equal(body, "+ACI-");
  });
}

Deno.test("a new body is not sent in the charset of the client's", async () => {
  await assert.rejects(
    () =>
      changeRequest({ body: "'+ACI-'" }, {
        method: "POST",
        body: "a",
        headers: { "content-type": "application/json; charset=utf-7" },
      }),
    { code: "unsupported_media_type" },
  );
});
