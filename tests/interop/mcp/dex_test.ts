import { startDocumentedGateway } from "../../harness/gateway/documented_gateway.ts";
import { startDex } from "../../harness/login/dex.ts";
import { logInWithAll } from "../../harness/login/documented_logins.ts";

// A real Dex; `make interop-dex` builds it and runs this file.

Deno.test("every client logs in at Dex with the documented configurations, refreshes its token and calls a tool", async (test) => {
  await using gateway = await startDocumentedGateway(
    "Dex",
    (_redirectUris, address) => startDex(address),
  );

  await logInWithAll(test, gateway);
});
