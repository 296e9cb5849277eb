import assert from "node:assert/strict";
import { serveLoopback } from "../../../../cli/dev/loopback_server.ts";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { openEgress } from "../../../../src/base/wire/egress_policy.ts";
import type { UserLogin } from "../../../../src/identity/backend_tokens/backend_credentials.ts";
import { LoginServers } from "../../../../src/identity/connections/login_servers.ts";
import { freePort } from "../../../harness/process/free_port.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

Deno.test("a user who leaves does not fail the login of another, who waits for the same metadata", async () => {
  const port = freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let requests = 0;
  const server = serveLoopback(port, async () => {
    requests++;
    asked.resolve();
    await answer.promise;
    return Response.json({ issuer, token_endpoint: `${issuer}/token` });
  });
  const servers = new LoginServers({
    clock: new FakeClock(),
    egress: openEgress,
    cancellation: new Cancellation(),
  });
  const login: UserLogin = {
    kind: "oauth",
    fingerprint: "1",
    backend: "default/tools",
    resource: `${issuer}/mcp`,
    issuer,
    endpoints: undefined,
    client: undefined,
    caCertificates: undefined,
    scopes: undefined,
    parameters: {},
  };
  const leaving = new Cancellation();

  const first = servers.metadataOf(login, issuer, leaving);
  const second = servers.metadataOf(login, issuer, new Cancellation());
  await asked.promise;
  leaving.cancel(new Error("left"));
  await assert.rejects(first, { message: "left" });
  answer.resolve();

  assert.equal((await second).token_endpoint, `${issuer}/token`);
  assert.equal(requests, 1);
  await server.close();
});
