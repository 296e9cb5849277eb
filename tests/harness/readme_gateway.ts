import { Gateway, textSource } from "../../mod.ts";
import type { Idp } from "../../cli/dev/idp/idp.ts";
import { startMcpServer } from "../../cli/dev/mcp_server.ts";
import { freePort } from "./free_port.ts";

/** A gateway with a configuration of README, names of the world outside replaced by servers of this machine. */
export interface ReadmeGateway extends AsyncDisposable {
  /** Endpoint of the MCP server at the gateway. */
  readonly url: string;
  readonly origin: string;
  /** Everything logged so far. */
  readonly log: readonly string[];
}

/** Changes to the text of a configuration: what is there, and what it becomes. */
export type Edits = Readonly<Record<string, string>>;

const readme = await Deno.readTextFile(
  new URL("../../README.md", import.meta.url),
);

/** README from the heading on, up to the next one that is not below it. */
export function readmeSection(heading: string): string {
  const [level = ""] = heading.split(" ");
  const [, rest = ""] = readme.split(`\n${heading}\n`);
  const [section = ""] = rest.split(new RegExp(`\n#{2,${level.length}} `));
  if (section === "") throw new Error(`README has no "${heading}"`);
  return section;
}

/**
 * Starts what section "With …" of README shows, before an MCP server; disposing also stops `idp`.
 * @throws {Error} When what an edit replaces is not there.
 */
export async function startReadmeGateway(
  provider: "IdpA" | "IdpB",
  idp: Idp,
  edits: Edits = {},
): Promise<ReadmeGateway> {
  await using opening = new AsyncDisposableStack();
  opening.use(idp);
  const server = opening.adopt(startMcpServer(), (server) => server.close());
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const url = `${origin}/mcp`;
  const [, , project = "", appOfProject = ""] = /(\/agentic\/([^/]+)\/([^/]+))$/
    .exec(idp.issuer) ?? [];
  const here = {
    "port: 3000": `port: ${port}, address: 127.0.0.1`,
    "https://mcp.example.com/mcp": url,
    "https://tenant.example.com": idp.origin,
    "https://api.example.com": idp.origin,
    "PROJECT": project,
    "SERVER": appOfProject,
    "my-client": idp.clientId,
    "127.0.0.1:9000": new URL(server.origin).host,
  };
  const [, shown = ""] = /```yaml\n(.*?)```/s.exec(
    readmeSection(`### With ${provider}`),
  ) ?? [];
  let text = shown;
  for (const [from, to] of Object.entries(edits)) {
    if (!text.includes(from)) throw new Error(`README has no "${from}"`);
    text = text.replace(from, to);
  }
  for (const [from, to] of Object.entries(here)) {
    text = text.replaceAll(from, to);
  }
  const log: string[] = [];
  opening.adopt(
    await Gateway.start({
      config: textSource(text),
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
