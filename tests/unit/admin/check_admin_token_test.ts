import assert from "node:assert/strict";
import {
  readAdminToken,
  withToken,
} from "../../../admin/access/check_admin_token.ts";
import { FailedAttempts } from "../../../admin/access/failed_attempts.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { createTestLog, FakeTarget } from "./fake_target.ts";

const token = "0123456789abcdef-_.~+/==";

function ask(authorization: string | undefined): Promise<Response> {
  const handler = withToken({
    token,
    attempts: new FailedAttempts(new FakeClock()),
    log: createTestLog().log,
    count: () => {},
  }, () => new Response("inside"));
  const headers = authorization === undefined ? undefined : { authorization };
  return Promise.resolve(
    handler(
      new Request("http://localhost/x", { headers: headers ?? {} }),
      "127.0.0.1",
    ),
  );
}

for (const given of [`Bearer ${token}`, `bearer  ${token}`]) {
  Deno.test(`withToken accepts "${given}"`, async () => {
    assert.equal(await (await ask(given)).text(), "inside");
  });
}

const missing = {
  challenge: 'Bearer realm="gateway admin"',
  body: "unauthorized: a bearer token is required\n",
};
const wrong = {
  challenge: 'Bearer realm="gateway admin", error="invalid_token"',
  body: "unauthorized: invalid bearer token\n",
};

for (
  const [given, expected] of [
    [undefined, missing],
    ["", missing],
    ["Bearer", missing],
    [`Basic ${token}`, missing],
    [token, missing],
    [`Bearer ${token}x`, wrong],
    [`Bearer ${token.slice(1)}`, wrong],
    [`Bearer ${token} ${token}`, missing],
    [`Bearer ${token}, Bearer ${token}`, missing],
  ] as const
) {
  Deno.test(`withToken rejects ${JSON.stringify(given)}`, async () => {
    const response = await ask(given);

    assert.equal(response.status, 401);
    const challenge = response.headers.get("www-authenticate");
    assert.deepEqual({ challenge, body: await response.text() }, expected);
  });
}

for (
  const [name, content, problem] of [
    ["empty", "", "expected one line"],
    ["short", "123456789012345\n", "expected one line"],
    ["two lines long", `${token}\n${token}\n`, "expected one line"],
    ["with spaces", "0123456789 abcdef", "expected one line"],
    ["missing", undefined, "no such file"],
  ] as const
) {
  Deno.test(`readAdminToken rejects a file that is ${name} and does not show it`, async () => {
    const folder = await Deno.makeTempDir();
    const adminTokenFile = `${folder}/token`;
    try {
      if (content !== undefined) {
        await Deno.writeTextFile(adminTokenFile, content);
      }
      const { settings } = new FakeTarget({ adminTokenFile });

      await assert.rejects(readAdminToken(settings), ({ message }: Error) => {
        assert.match(
          message,
          new RegExp(`config\\.adminTokenFile .*${problem}`),
        );
        assert.ok(!content || !message.includes(content.trim()));
        return true;
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("readAdminToken reads a file without its line break", async () => {
  const adminTokenFile = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(adminTokenFile, `${token}\r\n`);

    const { settings } = new FakeTarget({ adminTokenFile });

    assert.equal(await readAdminToken(settings), token);
  } finally {
    await Deno.remove(adminTokenFile);
  }
});
