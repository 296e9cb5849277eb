import assert from "node:assert/strict";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { startTestAdmin } from "./fake_target.ts";

const adminToken = "0123456789abcdef";

Deno.test("a disabled admin server does not listen", async () => {
  await using server = await startTestAdmin({ adminAddr: "off" });

  assert.deepEqual(server.addresses, []);
});

for (
  const [name, headers, status] of [
    ["another Host", { host: "evil.example:80" }, 403],
    ["a cross-origin post", { origin: "https://evil.example" }, 403],
    ["no token", {}, 401],
    ["a wrong token", { authorization: "Bearer 0123456789abcdeX" }, 401],
    ["the token", { authorization: `Bearer ${adminToken}` }, 200],
  ] as const
) {
  Deno.test(`the admin server with a token returns ${status} for ${name}`, async () => {
    const adminAddr = "127.0.0.1:0";
    await using server = await startTestAdmin({ adminAddr, adminToken });
    const [origin = ""] = server.addresses;

    const answer = await fetchRaw(`${origin}/quitquitquit`, {
      method: "POST",
      headers: { host: "localhost", ...headers },
    });

    assert.equal(answer.status, status);
    assert.equal(server.target.shutdowns, status === 200 ? 1 : 0);
  });
}

for (
  const { adminAddr, token, warns } of [
    { adminAddr: "0.0.0.0:0", token: undefined, warns: true },
    { adminAddr: "0.0.0.0:0", token: adminToken, warns: false },
    { adminAddr: "127.0.0.1:0", token: undefined, warns: false },
    { adminAddr: "off", token: undefined, warns: false },
  ]
) {
  Deno.test(`the admin server at ${adminAddr} ${warns ? "warns" : "does not warn"} ${token === undefined ? "without" : "with"} a token`, async () => {
    await using server = await startTestAdmin({ adminAddr, adminToken: token });

    const log = server.lines.join("");
    assert.equal(
      /warn\tadmin\tThe admin interface is reachable/.test(log),
      warns,
    );
    assert.ok(!log.includes(adminToken));
  });
}
