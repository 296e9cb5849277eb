import assert from "node:assert/strict";
import { isFieldValue } from "../../../../src/http/field_syntax.ts";
import { compileChecked } from "../../../../src/policy/expressions/expression_checks.ts";
import { compileHeader } from "../../../../src/policy/transformation/transformation_expression.ts";
import { normalizeTarget } from "../../../../src/route/normalize_target.ts";
import {
  changeRequest,
  changeResponse,
  contextOf,
  set,
  transformation,
} from "../transformations.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const claims = { sub: "anna", level: 3, roles: ["a", "b"], big: 1.5 };

const values: [string, string][] = [
  ["jwt.sub", "anna"],
  ["'constant'", "constant"],
  ["''", ""],
  ["'  blanks around \\t'", "blanks around"],
  ["b'bytes'", "bytes"],
  ["jwt.level", "3"],
  ["jwt.big", "1.5"],
  ["jwt.sub == 'anna'", "true"],
  ["null", "null"],
  ["jwt.roles", '["a","b"]'],
  ["{'user': jwt.sub, 'n': [1u, 2]}", '{"user":"anna","n":[1,2]}'],
  ["9007199254740993", '"9007199254740993"'],
  ["request.headers['x-in']", "in"],
  ["request.method + request.path", "GET/a"],
  ["source.address", "127.0.0.1"],
  ["env.gateway", "public"],
  ["string(request.startTime)", "2026-01-02T03:04:05Z"],
  ["has(jwt.team) ? jwt.team : 'none'", "none"],
  ["base64.encode(jwt.sub)", "YW5uYQ=="],
  ["string(base64.decode('YW5uYQ'))", "anna"],
  ["url.encode('a b/ü')", "a%20b%2F%C3%BC"],
  ["url.decode('a%20b')", "a b"],
  ['json(\'{"a":[1,{"b":null}]}\').a[1].b', "null"],
  ['toJson(json(\'{"a":1,"__proto__":2}\'))', '{"a":1,"__proto__":2}'],
];
for (const [expression, expected] of values) {
  Deno.test(`set gives a header the value of ${expression}`, async () => {
    const { headers } = await changeRequest(
      { set: set({ "X-Out": expression }) },
      { claims, target: "/a", headers: { "x-in": "in", "x-out": "smuggled" } },
    );
    assert.equal(headers["x-out"], expected);
  });
}

const failing = [
  "jwt.team",
  "jwt.sub.size",
  "jwt.sub + jwt.level",
  "string(jwt.roles)",
  "request.startTime",
  "type(jwt.sub)",
  "'a' + jwt.sub + '\\r\\nx-admin: true'",
  "jwt.sub + '\\u0000'",
  "jwt.sub + '\\n'",
  "jwt.sub + '\\u674e'",
  "b'\\x0a' + bytes(jwt.sub)",
  "json(jwt.sub)",
  "base64.decode('*' + jwt.sub)",
  "url.decode('%E4' + jwt.sub)",
  "toJson(1.0 / (0.0 * double(jwt.level)))",
  "mcp.tool.name",
];
for (const expression of failing) {
  for (const action of ["set", "add"] as const) {
    Deno.test(`${action} removes a header whose value is ${expression}`, async () => {
      const { headers } = await changeRequest(
        { [action]: set({ "x-out": expression }) },
        { claims, headers: { "X-Out": "smuggled", "x-out": "again" } },
      );
      assert.equal(headers["x-out"], undefined);
    });
  }
}

Deno.test("a transformation leaves no other spelling of a header that it sets or removes", async () => {
  const { headers } = await changeRequest(
    { set: set({ "x-user": "jwt.sub" }), remove: ["x-a-b"] },
    { claims, headers: { "X_User": "mallory", "x_a-b": "1", "x_c": "2" } },
  );
  assert.deepEqual(headers, { "x-user": "anna", "x_c": "2" });
});

Deno.test("a value that no server would take is no value", async () => {
  const long = { set: set({ "x-out": "jwt.text" }) };
  const fits = { claims: { text: "a".repeat(16_384) } };
  const exceeds = { claims: { text: "a".repeat(16_385) } };
  assert.equal(
    (await changeRequest(long, fits)).headers["x-out"],
    fits.claims.text,
  );
  assert.equal(
    (await changeRequest(long, exceeds)).headers["x-out"],
    undefined,
  );
});

Deno.test("set, add and remove change headers in any spelling and leave the others", async () => {
  const { headers } = await changeRequest({
    set: set({ "X-Set": "'new'" }),
    add: set({ "X-Add": "'more'" }),
    remove: ["X-GONE"],
  }, {
    headers: {
      "x-set": "old",
      "x-SET": "older",
      "x-add": "first",
      "x-gone": "1",
      "X-Gone": "2",
      "x-kept": "kept",
    },
  });
  assert.deepEqual(headers, {
    "x-set": "new",
    "x-add": "first, more",
    "x-kept": "kept",
  });
});

Deno.test("every expression sees the message as it was before", async () => {
  const { headers, target } = await changeRequest({
    set: set({
      ":path": "'/new'",
      "x-a": "request.headers['x-b']",
      "x-b": "request.headers['x-a']",
      "x-path": "request.path",
      "x-removed": "request.headers['x-c']",
    }),
    remove: ["x-c"],
  }, { target: "/old", headers: { "x-a": "a", "x-b": "b", "x-c": "c" } });
  assert.deepEqual(headers, {
    "x-a": "b",
    "x-b": "a",
    "x-path": "/old",
    "x-removed": "c",
  });
  assert.equal(target, "/new");
});

Deno.test("pseudo headers change the request line, authority and scheme", async () => {
  const { method, target, authority, scheme } = await changeRequest({
    set: set({
      ":method": "'PATCH'",
      ":path": "'/v2/%7euser/./x' + request.path + '?team=' + jwt.sub",
      ":authority": "jwt.sub + '.example:8080'",
      ":scheme": "'https'",
    }),
  }, { claims, target: "/a" });
  assert.deepEqual({ method, target, authority, scheme }, {
    method: "PATCH",
    target: "/v2/~user/x/a?team=anna",
    authority: "anna.example:8080",
    scheme: "https",
  });
});

const hostilePseudo: [string, string[]][] = [
  [":method", ["", "GET /admin", "GET\r\n", "CONNECT", "A".repeat(33)]],
  [":path", [
    "",
    "admin",
    "*",
    "http://other/",
    "/a b",
    "/a\r\nx: y",
    "/a#b",
    "/../admin",
    "/a/..%2fadmin",
    "/a\\..\\admin",
    "/%00",
    "/%zz",
    "/ü",
    "/" + "a".repeat(16_384),
  ]],
  [":authority", ["", "a b", "user@host", "a/b", "a:99999", "a,b", "a\r\n"]],
  [":scheme", ["", "ftp", "HTTP", "javascript"]],
];
for (const [name, texts] of hostilePseudo) {
  for (const text of texts) {
    Deno.test(`${name} is never ${JSON.stringify(text.slice(0, 20))}`, async () => {
      await assert.rejects(
        changeRequest({ set: set({ [name]: "jwt.sub" }) }, {
          claims: { sub: text },
        }),
        { code: "transformation_failed" },
      );
    });
  }
}

Deno.test("a pseudo header without a value rejects the request, and says nothing of the request", async () => {
  const attempts = [{}, { claims: { tenant: "s3cret" } }].map((request) =>
    changeRequest({ set: set({ ":path": "'/' + jwt.tenant + '#'" }) }, request)
  );
  await assert.rejects(attempts[0] ?? Promise.resolve(), {
    message: 'Cannot set ":path": a variable has no value in this request',
  });
  await assert.rejects(attempts[1] ?? Promise.resolve(), {
    message:
      'Cannot set ":path": the value is not a path: expected "/" and visible ASCII, without "#"',
  });
});

Deno.test("whatever a claim holds, headers are valid, and nothing of the client's is left in one that is set", async () => {
  const { policy } = transformation({
    request: {
      set: set({ "x-user": "jwt.sub" }),
      add: set({ "x-more": "jwt.sub" }),
    },
  });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.string({ unit: "binary" }), fc.jsonValue(), fc.string()),
      async (sub) => {
        const on = contextOf({ claims: { sub }, headers: { "X-User": "me" } });
        await policy.onRequest?.(on);
        const [user, ...others] = on.request.headers.getAll("x-user");
        assert.deepEqual(others, []);
        const expected = (typeof sub === "string" ? sub : JSON.stringify(sub))
          .replace(/^[ \t]+|[ \t]+$/g, "");
        assert.equal(
          user,
          isFieldValue(expected) ? asSpelled(user, expected) : undefined,
        );
        on.request.headers.forEach((_, value) =>
          assert.ok(isFieldValue(value))
        );
      },
    ),
  );
});

/** JSON has several spellings of a number. */
function asSpelled(
  actual: string | undefined,
  expected: string,
): string | undefined {
  try {
    assert.deepEqual(JSON.parse(actual ?? ""), JSON.parse(expected));
    return actual;
  } catch {
    return expected;
  }
}

Deno.test("whatever a claim holds, a path is in the one form or the request is rejected", async () => {
  const { policy } = transformation({
    request: { set: set({ ":path": "'/tenants/' + jwt.tenant" }) },
  });
  const piece = fc.constantFrom(
    "/",
    "..",
    ".",
    "%2e",
    "%2F",
    "\\",
    ";",
    "a",
    "?",
    "#",
    "%",
    " ",
    "\n",
    "%00",
  );
  const hostile = fc.array(piece, { maxLength: 8 }).map((all) => all.join(""));
  await fc.assert(
    fc.asyncProperty(fc.oneof(hostile, fc.string()), async (tenant) => {
      const on = contextOf({ claims: { tenant }, target: "/kept" });
      try {
        await policy.onRequest?.(on);
      } catch (error) {
        assert.equal(
          (error as { code?: string }).code,
          "transformation_failed",
        );
        assert.equal(on.request.target, "/kept");
        return;
      }
      const { target } = on.request;
      assert.match(target, /^\/[!-~]*$/);
      assert.equal(normalizeTarget(target), target);
      assert.ok(!/(?:^|\/)\.\.?(?:\/|$)/.test(target.split("?", 1)[0] ?? ""));
    }),
    { numRuns: 500 },
  );
});

Deno.test("a response is changed by what it says and who asked", async () => {
  const { status, headers } = await changeResponse({
    set: set({
      ":status": "response.code == 200 ? 201 : response.code",
      "x-user": "jwt.sub",
      "x-type": "response.headers['Content-Type']",
      "x-path": "request.path",
      "x-none": "response.headers['x-missing']",
    }),
    add: set({ "set-cookie": "'b=2'" }),
    remove: ["server"],
  }, {
    headers: {
      "content-type": "text/plain",
      server: "x",
      "set-cookie": "a=1",
      "x-none": "from the upstream",
    },
  }, { claims, target: "/a" });
  assert.equal(status, 201);
  assert.deepEqual(headers, {
    "content-type": "text/plain",
    "set-cookie": "a=1, b=2",
    "x-user": "anna",
    "x-type": "text/plain",
    "x-path": "/a",
  });
});

for (const status of ["199", "600", "2e2", "-200", "abc", "200.0", ""]) {
  Deno.test(`:status is never ${JSON.stringify(status)}`, async () => {
    const changes = { set: set({ ":status": "jwt.status" }) };
    await assert.rejects(changeResponse(changes, {}, { claims: { status } }), {
      code: "transformation_failed",
    });
  });
}

Deno.test("an expression that is the same for every request is evaluated once", () => {
  const expression = (text: string) => compileChecked(text, (same) => same);
  assert.equal(compileHeader("x-a", expression("'a' + 'b'")).constant, "ab");
  assert.equal(compileHeader("x-a", expression("jwt.sub")).constant, undefined);
});

Deno.test("the log reports which header was removed and why, without what the request holds", async () => {
  const { policy, lines } = transformation({
    request: {
      set: set({
        "x-a": "jwt.team",
        "x-b": "jwt.sub + 1",
        "x-c": "jwt.sub + '\\n'",
      }),
    },
  });
  await policy.onRequest?.(contextOf({ claims: { sub: "s3cret" } }));
  assert.deepEqual(lines, [
    'debug A header was removed: its expression has no value {"request.id":"test","header":"x-a","error":"field not found: team"}',
    `debug A header was removed: its expression has no value {"request.id":"test","header":"x-b","error":"found no matching overload for '_+_' applied to '(string, int)'"}`,
    `debug A header was removed: its expression has no value ${
      JSON.stringify({
        "request.id": "test",
        header: "x-c",
        error:
          "the value is not allowed in a header: it has control characters, or characters outside Latin-1",
      })
    }`,
  ]);
});

Deno.test("a trace hears which headers changed and what failed, and no value", async () => {
  const told: unknown[] = [];
  const { policy } = transformation({
    request: {
      set: set({
        ":path": "'/' + jwt.sub",
        "x-a": "jwt.sub",
        "x-b": "jwt.team",
      }),
      body: "jwt.sub + 1",
    },
  });
  const on = contextOf({ method: "POST", claims: { sub: "s3cret" } });
  await policy.onRequest?.({
    ...on,
    trace: {
      skip: () => {},
      report: () => {},
      apply: (details) => told.push(details),
      evaluated: (expression, result) => told.push({ expression, result }),
      waitsFor: (_whom, answer) => answer,
    },
  });
  assert.deepEqual(told, [
    {
      expression: "jwt.sub + 1",
      result: {
        error:
          "found no matching overload for '_+_' applied to '(string, int)'",
      },
    },
    {
      set: [":path", "x-a"],
      failed: { "x-b": "field not found: team" },
      body: true,
    },
  ]);
});
