import assert from "node:assert/strict";
import type { Idp } from "../../cli/dev/idp/idp.ts";
import { startIdpA } from "../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../cli/dev/mock_idp_b.ts";
import { mcpClients, visit } from "../harness/mcp_clients.ts";
import { startProtectedGateway } from "../harness/protected_gateway.ts";

// Every client at every kind of provider, however the gateway is set up and wherever the client gets its id from.

/** Where a client gets its id from. */
type Identity =
  | "registers at the provider"
  | "finds no registration"
  | "registers at the gateway"
  | "has a client id";

/** How it ends: with the tools of the server, or like this. */
type Outcome = "in" | RegExp;

interface Setting {
  readonly provider: "IdpA" | "IdpB";
  /** Whether the provider names itself in callbacks, as IdpB always does. */
  readonly namesItself?: boolean;
  readonly issuerMode: "Gateway" | "Upstream";
  readonly identity: Identity;
  /** Of MCP SDK v1, client v2 and mcp-remote; of all of them when there is one. */
  readonly outcomes: readonly [Outcome] | readonly [Outcome, Outcome, Outcome];
}

const noRegistration = /does not support dynamic client registration/;
const refused = /initial access token|no access token|registration failed/i;
const mismatch = /issuer/i;
// The provider had no audience to make a JWT for; the gateway says so with each 401.
const opaque = /unauthorized|401|log in again/i;

const settings: readonly Setting[] = [
  {
    provider: "IdpA",
    issuerMode: "Gateway",
    identity: "registers at the provider",
    outcomes: ["in"],
  },
  {
    provider: "IdpA",
    issuerMode: "Gateway",
    identity: "finds no registration",
    outcomes: [noRegistration],
  },
  {
    provider: "IdpA",
    issuerMode: "Gateway",
    identity: "registers at the gateway",
    outcomes: ["in"],
  },
  {
    provider: "IdpA",
    issuerMode: "Gateway",
    identity: "has a client id",
    outcomes: ["in"],
  },
  {
    provider: "IdpA",
    namesItself: true,
    issuerMode: "Gateway",
    identity: "registers at the gateway",
    outcomes: ["in", mismatch, mismatch],
  },
  {
    provider: "IdpA",
    issuerMode: "Upstream",
    identity: "registers at the provider",
    outcomes: [opaque],
  },
  {
    provider: "IdpA",
    issuerMode: "Upstream",
    identity: "registers at the gateway",
    outcomes: [noRegistration],
  },
  {
    provider: "IdpA",
    issuerMode: "Upstream",
    identity: "has a client id",
    outcomes: [opaque],
  },
  {
    provider: "IdpB",
    issuerMode: "Gateway",
    identity: "registers at the provider",
    outcomes: [refused],
  },
  {
    provider: "IdpB",
    issuerMode: "Gateway",
    identity: "registers at the gateway",
    outcomes: ["in", mismatch, mismatch],
  },
  {
    provider: "IdpB",
    issuerMode: "Gateway",
    identity: "has a client id",
    outcomes: ["in", mismatch, mismatch],
  },
  {
    provider: "IdpB",
    issuerMode: "Upstream",
    identity: "registers at the provider",
    outcomes: [refused],
  },
  {
    provider: "IdpB",
    issuerMode: "Upstream",
    identity: "registers at the gateway",
    outcomes: [refused],
  },
  {
    provider: "IdpB",
    issuerMode: "Upstream",
    identity: "has a client id",
    outcomes: ["in"],
  },
];

for (const setting of settings) {
  for (const [index, client] of mcpClients.entries()) {
    const outcome = setting.outcomes[index] ?? setting.outcomes[0];
    const { provider, namesItself, issuerMode, identity } = setting;
    const who = `${client.name} that ${identity}`;
    const where = `${provider}${namesItself ? " that names itself" : ""}`;
    const mode = `in issuer mode ${issuerMode}`;
    if (outcome !== "in") {
      Deno.test(`${who} cannot log in at ${where} ${mode}`, async () => {
        const idp = await startProvider(setting, true);
        await using gateway = await startGateway(setting, idp);

        await assert.rejects(
          visit(client, visitOf(setting, idp, gateway)),
          outcome,
        );

        const requests = gateway.requests();
        assert(!requests.includes("POST /mcp 200"), requests.join());
      });
      continue;
    }
    for (const allowed of [true, false]) {
      Deno.test(`${who} logs in at ${where} ${mode} and is ${allowed ? "let in" : "refused for lack of a right"}`, async () => {
        const idp = await startProvider(setting, allowed);
        await using gateway = await startGateway(setting, idp);

        const visiting = visit(client, visitOf(setting, idp, gateway));

        if (allowed) {
          const tools = await visiting;
          assert(tools.includes("echo"), tools.join());
        } else {
          await assert.rejects(visiting, /403|forbidden/i);
        }
        const requests = gateway.requests();
        assert.equal(requests.includes("POST /mcp 200"), allowed);
        assert.equal(requests.includes("POST /mcp 403"), !allowed);
        assert.equal(
          requests.includes(registration),
          identity === "registers at the gateway",
        );
      });
    }
  }
}

const registration =
  "POST /.well-known/oauth-authorization-server/mcp/client-registration 201";

function startProvider(
  { provider, namesItself = false, identity }: Setting,
  allowed: boolean,
): Promise<Idp> {
  return provider === "IdpA"
    ? startIdpA({
      permissions: [allowed ? "call:mcp" : "read:other"],
      registration: identity === "registers at the provider",
      sendsIssuer: namesItself,
    })
    : startIdpB({ roles: [allowed ? "editor" : "reader"] });
}

function startGateway({ provider, issuerMode, identity }: Setting, idp: Idp) {
  return startProtectedGateway(idp, {
    provider,
    rules: provider === "IdpA"
      ? ["'call:mcp' in jwt.permissions"]
      : ["'editor' in jwt.roles"],
    mcp: {
      issuerMode,
      ...(identity === "registers at the gateway" &&
        { clientId: idp.clientId, registration: "Gateway" }),
    },
  });
}

function visitOf(
  { identity }: Setting,
  { clientId }: Idp,
  { url }: { readonly url: string },
) {
  return identity === "has a client id" ? { url, clientId } : { url };
}
