/**
 * The client that conformance scenarios about authorization run: a gateway stands between it and the server of the suite, and logs
 * its user in there (`credentials: { oauth: {} }`), or gets tokens of its own. Its argument is the URL of the server.
 */
import { decodeJwt } from "jose";
import {
  type ConnectingSite,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import type { ConnectingUser } from "../../harness/login/connecting_user.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";

const [url = ""] = Deno.args;
const scenario = (Deno.env.get("MCP_CONFORMANCE_SCENARIO") ?? "")
  .replace(/^auth\//, "");
const context: Readonly<Record<string, string>> = JSON.parse(
  Deno.env.get("MCP_CONFORMANCE_CONTEXT") ?? "{}",
);
const DOCUMENT = "https://conformance-test.local/client-metadata.json";
const linkPattern = /https?:[^"\s\\]+\/connections\/connect\?request=[\w.~-]+/;
/** Attempts of a user before giving up. */
const MAX_ROUNDS = 6;

await using introspection = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: () => {} },
  () =>
    Response.json({
      active: true,
      ...decodeJwt(context["idp_id_token"] ?? ""),
    }),
);
await using site = await startConnectingSite();
await using _gateway = await site.start({
  providers: providers(),
  backend: {
    mcp: {
      servers: [{ name: "suite", url, credentials: await credentials() }],
      prefix: "Never",
    },
  },
});
await callTools(site, site.user("anna"));

/** Lists the tools and calls each, and logs in whenever the gateway asks for it. */
async function callTools(site: ConnectingSite, user: ConnectingUser) {
  for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
    const { result } = await send(site, user, "tools/list");
    const tools: readonly { readonly name: string }[] = result?.tools ?? [];
    let link: string | undefined;
    for (const { name } of tools) {
      const { text } = await send(site, user, "tools/call", {
        name,
        arguments: {},
      });
      link ??= linkPattern.exec(text)?.[0];
    }
    if (link === undefined) {
      if (tools.some(({ name }) => name === "connect_account")) continue;
      return;
    }
    await user.connect(link);
  }
}

async function send(
  site: ConnectingSite,
  user: ConnectingUser,
  method: string,
  params = {},
) {
  const { idp_id_token: idToken } = context;
  const authorization = idToken === undefined
    ? await site.authorization(user.name)
    : `Bearer ${idToken}`;
  const options = { headers: { authorization } };
  return await callModern(`${site.origin}/mcp`, method, params, options);
}

/** Returns what an operator would configure for the server of a scenario. */
async function credentials(): Promise<Readonly<Record<string, unknown>>> {
  const { client_id: clientId } = context;
  const clientSecret = { key: context["client_secret"] };
  const own = { clientId, resource: url };
  switch (scenario) {
    case "basic-cimd":
      return { oauth: { clientId: DOCUMENT, issuer: await issuer() } };
    case "pre-registration":
      return { oauth: { clientId, clientSecret, issuer: await issuer() } };
    case "client-credentials-basic":
      return {
        clientCredentials: { ...own, clientSecret, issuer: await issuer() },
      };
    case "client-credentials-jwt":
      return {
        clientCredentials: {
          ...own,
          privateKey: { key: context["private_key_pem"] },
          signingAlgorithm: context["signing_algorithm"],
          issuer: await issuer(),
        },
      };
    case "wif-jwt-bearer": {
      const file = await Deno.makeTempFile();
      await Deno.writeTextFile(file, context["valid_jwt"] ?? "");
      return {
        jwtBearer: { ...own, assertion: { file }, issuer: await issuer() },
      };
    }
    case "enterprise-managed-authorization":
      return {
        identityAssertion: {
          ...own,
          clientSecret,
          issuer: await issuer(),
          identityProvider: {
            tokenEndpoint: context["idp_token_endpoint"],
            clientId: context["idp_client_id"],
          },
        },
      };
    default:
      return { oauth: {} };
  }
}

/** Returns the identity provider of the enterprise. That of the suite publishes no keys, so a server says what its token means. */
function providers() {
  const { idp_issuer: issuer, idp_client_id: audience } = context;
  if (issuer === undefined) return [];
  return [{
    issuer,
    audiences: [audience],
    introspection: {
      endpoint: `http://127.0.0.1:${introspection.addr.port}`,
      clientId: "gateway",
      clientSecret: "secret of the gateway",
    },
  }];
}

/** Returns the issuer that the metadata of the server name. */
async function issuer(): Promise<string> {
  const { origin, pathname } = new URL(url);
  const metadata = await fetch(
    `${origin}/.well-known/oauth-protected-resource${pathname}`,
  );
  return (await metadata.json()).authorization_servers[0];
}
