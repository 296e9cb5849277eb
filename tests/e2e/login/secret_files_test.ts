/** Files with the secrets of issuer mode `Proxied` apply when they change, without a restart. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { protectedConfig } from "../../harness/gateway/protected_gateway.ts";
import { loginSteps } from "../../harness/gateway/proxied_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";

const secret = "the-secret-of-the-gateway-at-the-provider";
const oldState = "the first secret that seals logins, long";
const newState = "the second secret that seals logins, long";

Deno.test("changed clientSecretFile and stateSecretFile apply without a restart, in all workers", async () => {
  const folder = await Deno.makeTempDir();
  const [clientFile, stateFile] = [
    join(folder, "client"),
    join(folder, "state"),
  ];
  await Deno.writeTextFile(clientFile, "a wrong secret");
  await Deno.writeTextFile(stateFile, oldState);
  const url = `http://127.0.0.1:${freePort()}/mcp`;
  const steps = loginSteps(url);
  await using idp = await startIdpA({
    registration: false,
    redirectUris: [`${steps.base}/callback`],
    clientSecret: secret,
  });
  await using gateway = await GatewayProcess.start({
    port: Number(new URL(url).port),
    config: protectedConfig(idp, {
      provider: "IdpA",
      url,
      upstream: "http://127.0.0.1:9",
      config: { workers: 2 },
      mcp: {
        issuerMode: "Proxied",
        clientId: idp.clientId,
        scopes: ["offline_access", "openid"],
        clientSecretFile: clientFile,
        stateSecretFile: stateFile,
      },
    }),
  });
  const applied = async (file: string, text: string) => {
    const next = gateway.log.next(/Configuration applied/);
    await replaceFile(file, text);
    await next;
  };
  const client = await steps.registerClient();

  const wrong = await steps.redeem(client, await steps.code(client));
  await applied(clientFile, secret);
  const right = await steps.redeem(client, await steps.code(client));
  await applied(stateFile, `${newState}\n${oldState}\n`);
  const rotated = await steps.refresh(client, right.body.refresh_token);
  await applied(stateFile, newState);
  const sealedAnew = await steps.refresh(client, rotated.body.refresh_token);
  const sealedBefore = await steps.refresh(client, right.body.refresh_token);
  const registered = await fetch(steps.authorizeUrl(client));
  await registered.body?.cancel();
  await Deno.remove(folder, { recursive: true });

  assert.deepEqual(
    [wrong, right, rotated, sealedAnew].map(({ status }) => status),
    [502, 200, 200, 200],
  );
  assert.equal(sealedBefore.body.error_description, "unknown refresh token");
  assert.equal(registered.status, 401);
});
