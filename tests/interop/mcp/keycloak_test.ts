import { startDocumentedGateway } from "../../harness/gateway/documented_gateway.ts";
import { logInWithAll } from "../../harness/login/documented_logins.ts";
import { Keycloak } from "../../harness/login/keycloak.ts";

// A real Keycloak; `make interop-keycloak` installs it and runs this file.

/** The configurations of the documentation, in their order. */
const configurations = ["its own login", "issuer mode Proxied"];

Deno.test("every client logs in at Keycloak with the documented commands and configurations, refreshes its token and calls a tool", async (test) => {
  await using keycloak = await Keycloak.start();
  for (const [index, name] of configurations.entries()) {
    await test.step(name, async (test) => {
      await using gateway = await startDocumentedGateway(
        "Keycloak",
        (_redirectUris, address) =>
          keycloak.configureRealm(`agents${index}`, address),
        {},
        index,
      );

      await logInWithAll(test, gateway);
    });
  }
});
