import { basicAuthUser } from "../../../../src/policy/authentication/request_identity.ts";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { hashSync } from "bcryptjs";
import type { BasicAuthentication } from "../../../../src/policy/authentication/basic_schema.ts";
import {
  checkBasicAuthentication,
  createBasicAuthentication,
} from "../../../../src/policy/authentication/basic_policy.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { context, headersOf, responseOf } from "../exchange.ts";

const bcrypt = hashSync("secret", 4);
const users = [
  `anna:${bcrypt}`,
  // htpasswd -nbs otto pässword
  `otto:{SHA}${sha1("pässword")}`,
];

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("base64");
}

function basic(credentials: string): string {
  return `Basic ${new TextEncoder().encode(credentials).toBase64()}`;
}

/** Returns the rejection of a request, or its user and the headers that go upstream. */
async function authenticate(
  config: Partial<BasicAuthentication>,
  authorization?: string,
) {
  const on = context({
    headers: authorization === undefined ? {} : { authorization },
  });
  const policy = createBasicAuthentication(
    { mode: "Strict", users, ...config },
    () => "",
  );
  const verdict = responseOf(await policy.onRequest?.(on));
  if (verdict !== undefined) {
    const body = new TextDecoder().decode(await verdict.body?.read());
    return { status: verdict.status, body, headers: headersOf(verdict) };
  }
  return { user: on.slots.get(basicAuthUser), headers: headersOf(on.request) };
}

for (const [username, password] of [["anna", "secret"], ["otto", "pässword"]]) {
  Deno.test(`${username} is known by password, which does not go upstream`, async () => {
    assert.deepEqual(
      await authenticate({}, basic(`${username}:${password}`)),
      { user: { username }, headers: {} },
    );
  });
}

Deno.test("Strict rejects a request without credentials and names the realm", async () => {
  assert.deepEqual(await authenticate({ realm: "tools" }), {
    status: 401,
    body:
      '{"error":"unauthorized","error_description":"user name and password required"}',
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "www-authenticate": 'Basic realm="tools", charset="UTF-8"',
    },
  });
});

Deno.test("Optional passes a request without credentials, not one with wrong ones", async () => {
  const mode = "Optional";
  assert.deepEqual(await authenticate({ mode }), {
    user: undefined,
    headers: {},
  });
  const { status } = await authenticate({ mode }, basic("anna:wrong"));
  assert.equal(status, 401);
});

for (
  const authorization of [
    basic("anna:wrong"),
    basic("anna:"),
    basic("anna"),
    basic("nobody:secret"),
    basic(`anna:${bcrypt}`),
    basic(`anna:${"x".repeat(100)}`),
    "Basic",
    "Basic ???",
    "Basic /w==",
    "Bearer abc",
  ]
) {
  Deno.test(`Strict rejects ${authorization.slice(0, 40)}`, async () => {
    const { status, headers } = await authenticate({}, authorization);
    assert.equal(status, 401);
    assert.equal(
      headers["www-authenticate"],
      'Basic realm="Restricted", charset="UTF-8"',
    );
  });
}

Deno.test("users come from a file with comments and blank lines", async () => {
  const policy = createBasicAuthentication(
    { mode: "Strict", file: "users.txt" },
    () => `# staff\n\n${users.join("\r\n")}\n`,
  );
  const on = context({ headers: { authorization: basic("anna:secret") } });
  assert.equal(await policy.onRequest?.(on), undefined);
  assert.deepEqual(on.slots.get(basicAuthUser), { username: "anna" });
});

Deno.test("checkBasicAuthentication locates bad lines and shows no hash", () => {
  const lines = [
    ...users,
    "no colon",
    "plain:password",
    "old:$apr1$abcdefgh$ABCDEFGHIJKLMNOPQRSTU.",
    `costly:${bcrypt.replace("$04$", "$14$")}`,
    `anna:${bcrypt}`,
  ];
  const problems = checkBasicAuthentication(
    { mode: "Strict", users: lines },
    () => "",
  );
  const unhashed =
    'has a password that is not hashed with bcrypt or SHA-1; hash it with "htpasswd -B"';
  assert.deepEqual(
    problems,
    [
      ["no colon", 'expected "name:hash"'],
      ["plain", `user "plain" ${unhashed}`],
      ["old", `user "old" ${unhashed}`],
      [
        "costly",
        'user "costly" has a bcrypt hash of cost 14; expected 4 to 10, as of "htpasswd -B -C 10"',
      ],
      ["anna", 'user "anna" is listed twice'],
    ].map(([, fault], index) => ({
      path: ["users", index + 2],
      message: `Cannot use the line: ${fault}`,
    })),
  );
});

for (
  const [content, reason] of [
    ["", "it has no users"],
    ["x", 'expected "name:hash"'],
    [undefined, "no such file"],
  ]
) {
  Deno.test(`checkBasicAuthentication says of a file that ${reason}`, () => {
    const problems = checkBasicAuthentication(
      { mode: "Strict", file: "users.txt" },
      () => {
        if (content === undefined) throw new Error("no such file");
        return content;
      },
    );
    const message = `Cannot read the users of "users.txt": ${reason}`;
    assert.deepEqual(problems, [{ path: ["file"], message }]);
  });
}

Deno.test("clients behind one trusted proxy take turns", async () => {
  const policy = createBasicAuthentication(
    { mode: "Strict", users },
    () => "",
    new FakeClock(),
  );
  const finished: string[] = [];
  const send = async (address: string, password: string) => {
    const authorization = basic(`anna:${password}`);
    const client = { address, port: 50000 };
    await policy.onRequest?.({
      ...context({ headers: { authorization } }),
      client,
    });
    finished.push(password);
  };

  await Promise.all([
    ...Array.from({ length: 20 }, (_, i) => send("198.51.100.1", `guess${i}`)),
    send("203.0.113.1", "secret"),
  ]);

  const turn = finished.indexOf("secret");
  assert.ok(turn <= 2, `anna waited for ${turn} guesses`);
});
