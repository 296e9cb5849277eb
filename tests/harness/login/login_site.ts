import { join } from "node:path";
import { LOOPBACK_REDIRECT_URIS } from "../../../cli/dev/idp/configuration.ts";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { startIdpB } from "../../../cli/dev/mock_idp_b.ts";
import { createAuthority } from "./certificates.ts";
import { freePort } from "../process/free_port.ts";
import { GatewayProcess } from "../gateway/gateway_process.ts";
import type { Visit } from "../clients/mcp_clients.ts";
import { startGenericIdp } from "./generic_idp.ts";
import {
  issuerModes,
  type LoginSetting,
  type ProviderKind,
  providerKinds,
} from "./login_cells.ts";

/** One gateway in front of an MCP server with a route for each setting, and all kinds of providers. */
export interface LoginSite extends AsyncDisposable {
  /** Returns the endpoint of a setting, and the identity of its client. */
  visitOf(setting: LoginSetting): Promise<Visit>;
}

/** A client metadata document that the providers and the gateway know. */
interface ClientDocument extends AsyncDisposable {
  readonly url: string;
  /** Certificate of its authority (PEM). */
  readonly authority: string;
  fetch(): Promise<Response>;
}

type RouteSetting = Omit<LoginSetting, "identity"> & {
  readonly registersAtGateway: boolean;
};

/** Starts all servers on free ports. */
export async function startLoginSite(): Promise<LoginSite> {
  await using opening = new AsyncDisposableStack();
  const mcp = opening.adopt(
    startMcpServer({ maxSessions: 1000 }),
    (server) => server.close(),
  );
  const document = opening.use(await serveClientDocument());
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const redirectUris = [
    ...LOOPBACK_REDIRECT_URIS,
    ...routeSettings.map((setting) =>
      `${endpointOf(origin, setting)}/callback`
    ),
  ];
  const idps = new Map<string, Idp>();
  for (const provider of providerKinds) {
    for (const sendsIssuer of [false, true]) {
      const idp = opening.use(
        await startProvider(provider, {
          sendsIssuer,
          redirectUris,
          fetchClient: document.fetch,
        }),
      );
      idps.set(`${provider} ${sendsIssuer}`, idp);
    }
  }
  const idpOf = (
    { provider, sendsIssuer }: Pick<LoginSetting, "provider" | "sendsIssuer">,
  ) => {
    const idp = idps.get(`${provider} ${sendsIssuer}`);
    if (idp === undefined) throw new Error(`no provider ${provider}`);
    return idp;
  };
  const folder = opening.adopt(
    await Deno.makeTempDir(),
    (folder) => Deno.remove(folder, { recursive: true }),
  );
  const authorityFile = join(folder, "authority.pem");
  await Deno.writeTextFile(authorityFile, document.authority);
  opening.use(
    await GatewayProcess.start({
      listener: { port },
      env: { SSL_CERT_FILE: authorityFile },
      config: {
        routes: routeSettings.map((setting) =>
          createRoute(setting, {
            origin,
            idp: idpOf(setting),
            backend: new URL(mcp.origin).host,
            documentHost: new URL(document.url).host,
          })
        ),
      },
    }),
  );
  const open = opening.move();
  return {
    async visitOf(setting) {
      const registersAtGateway =
        setting.identity === "registers at the gateway";
      const route = { ...setting, registersAtGateway };
      const url = `${origin}${pathOf(route)}`;
      switch (setting.identity) {
        case "client ID":
          return {
            url,
            clientId: setting.issuerMode === "Proxied"
              ? await registerByHand(endpointOf(origin, route))
              : idpOf(setting).clientId,
          };
        case "metadata document":
          return { url, clientMetadataUrl: document.url };
        default:
          return { url };
      }
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const routeSettings: readonly RouteSetting[] = issuerModes.flatMap((
  issuerMode,
) =>
  providerKinds.flatMap((provider) =>
    [false, true].flatMap((sendsIssuer) =>
      [false, true].map((registersAtGateway) => ({
        issuerMode,
        provider,
        sendsIssuer,
        registersAtGateway,
      }))
    )
  )
);

function pathOf(
  { issuerMode, provider, sendsIssuer, registersAtGateway }: RouteSetting,
): string {
  return `/${issuerMode}-${provider}${sendsIssuer ? "-iss" : ""}${
    registersAtGateway ? "-registration" : ""
  }`.toLowerCase();
}

/** Prefix of the authorization server's endpoints at the gateway. */
function endpointOf(origin: string, setting: RouteSetting): string {
  return `${origin}/.well-known/oauth-authorization-server${pathOf(setting)}`;
}

function startProvider(
  kind: ProviderKind,
  options: Parameters<typeof startGenericIdp>[0],
): Promise<Idp> {
  switch (kind) {
    case "Auth0":
      return startIdpA(options);
    case "Descope":
      return startIdpB(options);
    case "generic":
      return startGenericIdp(options);
  }
}

function createRoute(
  setting: RouteSetting,
  { origin, idp, backend, documentHost }: {
    readonly origin: string;
    readonly idp: Idp;
    readonly backend: string;
    readonly documentHost: string;
  },
) {
  const { issuerMode, provider, registersAtGateway } = setting;
  const path = pathOf(setting);
  return {
    name: path.slice(1),
    matches: [{ path: { type: "PathPrefix", value: path } }],
    filters: [{
      type: "URLRewrite",
      urlRewrite: {
        path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/mcp" },
      },
    }],
    backends: [{ host: backend }],
    policies: {
      jwtAuthentication: {
        providers: [{
          issuer: idp.issuer,
          audiences: [`${origin}${path}`],
          jwks: { url: idp.origin + idp.jwksPath },
        }],
        mcp: {
          issuerMode,
          ...provider !== "generic" && { provider },
          ...(registersAtGateway || issuerMode === "Proxied") &&
            { clientId: idp.clientId },
          ...registersAtGateway && { registration: "Gateway" },
          ...issuerMode === "Proxied" && {
            scopes: ["offline_access"],
            clientMetadataHosts: [documentHost],
          },
        },
      },
    },
  };
}

/** Registers a client as an administrator does whose client asks for an ID. */
async function registerByHand(endpoint: string): Promise<string> {
  const response = await fetch(`${endpoint}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: LOOPBACK_REDIRECT_URIS }),
  });
  const { client_id: id } = await response.json();
  return String(id);
}

async function serveClientDocument(): Promise<ClientDocument> {
  const authority = await createAuthority();
  const port = freePort();
  const url = `https://127.0.0.1:${port}/oauth/client.json`;
  const respond = () =>
    Response.json({
      client_id: url,
      client_name: "Test client",
      application_type: "native",
      redirect_uris: LOOPBACK_REDIRECT_URIS,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    });
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port,
    onListen: () => {},
    ...await authority.issueServer(["127.0.0.1"]),
  }, respond);
  return {
    url,
    authority: authority.cert,
    fetch: () => Promise.resolve(respond()),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
