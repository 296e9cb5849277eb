/** Gateways of the library that cannot start. */
import assert from "node:assert/strict";
import { startGateway } from "../../../mod.ts";

Deno.test("a gateway that cannot read the secret of its pages leaves no store open", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const starting = startGateway({
      config: {
        config: {
          workers: 1,
          kv: { path: `${folder}/store.sqlite` },
          vault: { keys: ["a vault key of at least 32 characters"] },
          connections: {
            url: "https://gateway.example/connections",
            logins: [{
              issuer: "https://login.example",
              clientId: "gateway",
              clientSecretFile: `${folder}/absent`,
            }],
          },
        },
        gateways: { default: { port: 0 } },
        routes: [{ policies: { directResponse: { status: 200 } } }],
      },
    });

    await assert.rejects(starting, /absent|No such file/);

    // The sanitizer of resources finds a store that stays open.
    const left = await Array.fromAsync(Deno.readDir(folder));
    assert.deepEqual(left, []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
