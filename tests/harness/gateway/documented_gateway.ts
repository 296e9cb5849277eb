import { startGateway } from "../../../mod.ts";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { freePort } from "../process/free_port.ts";

/** A gateway with a configuration of `docs/mcp_providers.md`, whose external hosts are replaced by servers of this machine. */
export interface DocumentedGateway extends AsyncDisposable {
  /** Endpoint of the MCP server at the gateway. */
  readonly url: string;
  readonly origin: string;
  /** All log lines so far. */
  readonly log: readonly string[];
}

/** Replacements in a configuration: old string to new string. */
export type Edits = Readonly<Record<string, string>>;

const pages = (await Promise.all(
  ["mcp_login", "mcp_providers", "mcp_login_reference"].map((name) =>
    Deno.readTextFile(new URL(`../../../docs/${name}.md`, import.meta.url))
  ),
)).join("\n");

/** Returns the pages about MCP login from a second-level heading to the next one. @throws {Error} If there is no such heading. */
export function sectionOf(heading: string): string {
  const [, rest = ""] = pages.split(`\n## ${heading}\n`);
  const [section = ""] = rest.split("\n## ");
  if (section === "") {
    throw new Error(`The pages about MCP login have no section "${heading}"`);
  }
  return section;
}

/** Returns the code blocks of a section in one language. */
export function blocksOf(heading: string, language: string): string[] {
  const blocks = sectionOf(heading).matchAll(/```(\w+)\n(.*?)```/gs);
  return [...blocks].flatMap(([, name, text = ""]) =>
    name === language ? [text] : []
  );
}

/** A provider on this machine; disposing stops it. */
export type LocalProvider =
  & Pick<Idp, "origin" | "issuer" | "clientId">
  & AsyncDisposable;

/** Address of the gateway of `startDocumentedGateway`, as the provider has to know it. */
export interface DocumentedAddress {
  /** Endpoint of the MCP server. */
  readonly url: string;
  /** Redirect URI of the gateway in issuer mode `Proxied`. */
  readonly callback: string;
}

/**
 * Starts the configuration of a provider's section, in front of an MCP server; disposing also stops the provider.
 * @param startIdp The provider, or a function that starts it with the callback URL of the gateway.
 * @throws {Error} If the configuration does not contain a string that an edit replaces.
 */
export async function startDocumentedGateway(
  provider: "Auth0" | "Descope" | "Keycloak" | "Dex",
  startIdp:
    | LocalProvider
    | ((
      redirectUris: readonly string[],
      address: DocumentedAddress,
    ) => Promise<LocalProvider>),
  edits: Edits = {},
  /** Which of the section's configurations; the first by default. */
  configuration = 0,
): Promise<DocumentedGateway> {
  await using opening = new AsyncDisposableStack();
  const server = opening.adopt(startMcpServer(), (server) => server.close());
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const url = `${origin}/mcp`;
  const callback =
    `${origin}/.well-known/oauth-authorization-server/mcp/callback`;
  const idp = opening.use(
    typeof startIdp === "function"
      ? await startIdp([callback], { url, callback })
      : startIdp,
  );
  const [, , project = "", appOfProject = ""] = /(\/agentic\/([^/]+)\/([^/]+))$/
    .exec(idp.issuer) ?? [];
  const here = {
    "port: 3000": `port: ${port}, address: 127.0.0.1`,
    "https://mcp.example.com/mcp": url,
    "https://tenant.example.com": idp.origin,
    "https://api.example.com": idp.origin,
    "https://keycloak.example.com": idp.origin,
    "https://dex.example.com": idp.origin,
    "/realms/agents": new URL(idp.issuer).pathname,
    "PROJECT": project,
    "SERVER": appOfProject,
    "my-client": idp.clientId,
    // The clients of these providers are public.
    '          clientSecret: "${CLIENT_SECRET}"\n': "",
    "${STATE_SECRET}": "seals the logins of a test, 32 characters or more",
    "127.0.0.1:9000": new URL(server.origin).host,
  };
  let text = blocksOf(provider, "yaml")[configuration] ?? "";
  for (const [from, to] of Object.entries(edits)) {
    if (!text.includes(from)) {
      throw new Error(`The configuration of ${provider} has no "${from}"`);
    }
    text = text.replace(from, to);
  }
  for (const [from, to] of Object.entries(here)) {
    text = text.replaceAll(from, to);
  }
  const log: string[] = [];
  opening.adopt(
    await startGateway({
      config: text,
      writeLog: (line) => log.push(line),
    }),
    (gateway) => gateway.stop(0),
  );
  const open = opening.move();
  return {
    url,
    origin,
    log,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
