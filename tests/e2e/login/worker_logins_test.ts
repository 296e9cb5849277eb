/** Logins in issuer mode `Proxied` at a gateway with several workers: each of their requests may reach another one. */
import assert from "node:assert/strict";
import { startProxiedGateway } from "../../harness/gateway/proxied_gateway.ts";

/** Of two workers, all of so many connections reach the same one once in 30 000 runs. */
const LOGINS = 16;
const config = { workers: 2 };

Deno.test("logins go on at any worker: codes are used once, and what replay or revocation ends has ended everywhere", async () => {
  await using server = await startProxiedGateway({ config });
  const client = await server.registerClient();

  const logins = await Promise.all(
    Array.from({ length: LOGINS }, async (_, login) => {
      const code = await server.code(client);
      const { status, body } = await server.redeem(client, code);
      const token = body.refresh_token;
      const ending = login % 2 === 0
        ? await server.redeem(client, code)
        : await server.revoke(client, token);
      const ended = await server.refresh(client, token);
      return [status, ending.status, ended.status, ended.body.error];
    }),
  );

  assert.deepEqual(
    logins,
    logins.map((_, login) => [
      200,
      login % 2 === 0 ? 400 : 200,
      400,
      "invalid_grant",
    ]),
  );
});

Deno.test("of redemptions of one code at the same time, one gets a token", async () => {
  await using server = await startProxiedGateway({ config });
  const client = await server.registerClient();
  const code = await server.code(client);

  const responses = await Promise.all(
    Array.from({ length: LOGINS }, () => server.redeem(client, code)),
  );

  assert.deepEqual(
    responses.map(({ status }) => status).sort(),
    responses.map((_, at) => at === 0 ? 200 : 400),
  );
});
