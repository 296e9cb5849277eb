/**
 * The client that conformance scenarios about authorization run: a gateway stands between it and the server of the suite, and logs
 * its user in there (`credentials: { oauth: {} }`), or gets tokens of its own.
 */
import { decodeJwt } from "jose";
import {
  type ConnectingSite,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import type { ConnectingUser } from "../../harness/login/connecting_user.ts";
import { callModern } from "../../harness/mcp/modern_call.ts";
import type { ClientScenario } from "../../harness/parsers/conformance.ts";

const DOCUMENT = "https://conformance-test.local/client-metadata.json";
const linkPattern = /https?:[^"\s\\]+\/connections\/connect\?request=[\w.~-]+/;
/** Attempts of a user before giving up. */
const MAX_ROUNDS = 6;

/** A scenario whose context has been read. */
interface Scenario {
  readonly name: string;
  readonly url: string;
  readonly context: Readonly<Record<string, string>>;
}

/** Lists and calls the tools of the server of a scenario. */
export async function runAuthClient(
  { name, url, context: text }: ClientScenario,
): Promise<void> {
  const context = JSON.parse(text);
  const scenario = { name: name.replace(/^auth\//, ""), url, context };
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
    providers: providers(scenario, introspection.addr.port),
    backend: {
      mcp: {
        servers: [{
          name: "suite",
          url,
          credentials: await credentials(scenario),
        }],
        prefix: "Never",
      },
    },
  });
  await callTools(scenario, site, site.user("anna"));
}

/** Lists the tools and calls each, and logs in whenever the gateway asks for it. */
async function callTools(
  { context }: Scenario,
  site: ConnectingSite,
  user: ConnectingUser,
) {
  const authorization = context["idp_id_token"] === undefined
    ? await site.authorization(user.name)
    : `Bearer ${context["idp_id_token"]}`;
  const options = { headers: { authorization } };
  const send = (method: string, params = {}) =>
    callModern(`${site.origin}/mcp`, method, params, options);

  for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
    const { result } = await send("tools/list");
    const tools: readonly { readonly name: string }[] = result?.tools ?? [];
    let link: string | undefined;
    for (const { name } of tools) {
      const { text } = await send("tools/call", {
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

/** Returns what an operator would configure for the server of a scenario. */
async function credentials(
  { name, url, context }: Scenario,
): Promise<Readonly<Record<string, unknown>>> {
  const { client_id: clientId } = context;
  const clientSecret = { key: context["client_secret"] };
  const own = { clientId, resource: url };
  switch (name) {
    case "basic-cimd":
      return { oauth: { clientId: DOCUMENT, issuer: await issuer(url) } };
    case "pre-registration":
      return { oauth: { clientId, clientSecret, issuer: await issuer(url) } };
    case "client-credentials-basic":
      return {
        clientCredentials: { ...own, clientSecret, issuer: await issuer(url) },
      };
    case "client-credentials-jwt":
      return {
        clientCredentials: {
          ...own,
          privateKey: { key: context["private_key_pem"] },
          signingAlgorithm: context["signing_algorithm"],
          issuer: await issuer(url),
        },
      };
    case "wif-jwt-bearer": {
      const file = await Deno.makeTempFile();
      await Deno.writeTextFile(file, context["valid_jwt"] ?? "");
      return {
        jwtBearer: { ...own, assertion: { file }, issuer: await issuer(url) },
      };
    }
    case "enterprise-managed-authorization":
      return {
        identityAssertion: {
          ...own,
          clientSecret,
          issuer: await issuer(url),
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
function providers({ context }: Scenario, introspectionPort: number) {
  const { idp_issuer: issuer, idp_client_id: audience } = context;
  if (issuer === undefined) return [];
  return [{
    issuer,
    audiences: [audience],
    introspection: {
      endpoint: `http://127.0.0.1:${introspectionPort}`,
      clientId: "gateway",
      clientSecret: "secret of the gateway",
    },
  }];
}

/** Returns the issuer that the metadata of the server name. */
async function issuer(url: string): Promise<string> {
  const { origin, pathname } = new URL(url);
  const metadata = await fetch(
    `${origin}/.well-known/oauth-protected-resource${pathname}`,
  );
  return (await metadata.json()).authorization_servers[0];
}
