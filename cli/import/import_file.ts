import { describeReadError } from "../../src/base/regular_file.ts";
import { textSource } from "../../src/config/configuration_source.ts";
import {
  type Diagnostic,
  isError,
} from "../../src/config/diagnostics/located_diagnostic.ts";
import { printYaml } from "../../src/config/yaml/yaml.ts";
import { validateConfiguration } from "../../src/gateway/candidate/candidate.ts";
import { print, printError } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { readInput } from "../process/read_input.ts";
import { importAgentgateway } from "./agentgateway/agentgateway.ts";
import { importKong } from "./kong/kong.ts";
import { importLitellm } from "./litellm/litellm.ts";
import { importMcpServers } from "./mcp_clients/imported_mcp_servers.ts";
import { closed, type RouteImport } from "./parts/imported_configuration.ts";
import {
  type ImportNote,
  SourceDocument,
  type SourceNode,
} from "./parts/source_node.ts";

/** A configuration of this gateway, made of another one. */
export interface ImportResult {
  /** YAML in the short form. */
  readonly text: string;
  /** Parts that could not be taken over, in the order of the file. */
  readonly notes: readonly ImportNote[];
}

/** Imports a file of agentgateway or of a desktop client: prints YAML, and reports what could not be taken over; returns the exit code. */
export async function importFile(
  file: string,
  output: string | undefined,
): Promise<number> {
  const name = file === "-" ? "<stdin>" : file;
  const { text, notes } = await importText(name, await readInput(file));
  if (output === undefined) await print(text);
  else await writeNew(output, text);
  const lines = notes.map(({ file, line, column, message }) =>
    printable(`${file}:${line}:${column}: warning: ${message}`)
  );
  await printError(
    notes.length === 0
      ? "Everything was taken over\n"
      : `${lines.join("\n")}\n${notes.length} not taken over\n`,
  );
  return exitCodes.ok;
}

/**
 * Imports the text of a file of agentgateway, or of a desktop client with MCP servers.
 * @throws {Failure} When it is not readable as YAML, or has nothing to import.
 */
export async function importText(
  name: string,
  text: string,
): Promise<ImportResult> {
  const document = new SourceDocument(name, text);
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, column, message } = error;
    throw new Failure(`${name}:${line}:${column}: error: ${message}`);
  }
  const { config, gateways, routes } = importRoot(document.root);
  if (Object.keys(gateways).length === 0) {
    throw new Failure(
      `Cannot import "${name}": expected a configuration of agentgateway with "binds", "gateways", "llm" or "mcp", of LiteLLM with "model_list", of Kong with "_format_version", or of a desktop client with "mcpServers" or "servers"`,
    );
  }
  document.root.reportUnread();
  const rest = { ...(config !== undefined && { config }), gateways };
  const valid = await withoutInvalid(document, rest, routes);
  const converted = printConfiguration(valid.rest, valid.routes);
  return { text: converted, notes: document.notes() };
}

function importRoot(root: SourceNode) {
  if (root.has("mcpServers")) return importMcpServers(root, "mcpServers");
  if (root.has("servers")) return importMcpServers(root, "servers");
  if (root.has("model_list")) return importLitellm(root);
  if (root.has("_format_version")) return importKong(root);
  return importAgentgateway(root);
}

/** Closes the routes that this gateway would reject, such as for an unknown name in an expression, and drops such settings. */
async function withoutInvalid(
  document: SourceDocument,
  rest: object,
  routes: readonly RouteImport[],
) {
  const text = printConfiguration(rest, routes);
  const { diagnostics } = await validateConfiguration(
    textSource(text, "<import>"),
    placeholders,
  );
  const errors = new Map<number, Diagnostic>();
  for (const diagnostic of diagnostics.filter(isError)) {
    const [, index] = /^routes\[(\d+)\]/.exec(diagnostic.path) ?? [];
    // Files that are missing here can exist where the gateway runs.
    if (isAboutFile(diagnostic)) continue;
    if (index === undefined) {
      dropMember(rest, diagnostic.path);
      document.note(0, `${diagnostic.path}: ${diagnostic.message}`);
    } else {
      errors.set(Number(index), errors.get(Number(index)) ?? diagnostic);
    }
  }
  const closedRoutes = routes.map((each, index) => {
    const error = errors.get(index);
    if (error === undefined) return each;
    const { path, message } = error;
    const where = path.replace(/^routes\[\d+\]\.?/, "");
    each.source.reject(`${where}: ${message}`);
    return {
      source: each.source,
      route: closed(each.route, [where]),
    };
  });
  return { rest, routes: closedRoutes };
}

/** Removes a field of the access log or an attribute of spans, which the gateway needs not. */
function dropMember(holder: object, path: string): void {
  const [, section = "", list = "", plain, quoted] =
    /^config\.(accessLog|tracing)\.(add|attributes)(?:\.(\w+)|\["(.*)"\])$/
      .exec(path) ?? [];
  const members: unknown = Reflect.get(
    Object(Reflect.get(Object(Reflect.get(holder, "config")), section)),
    list,
  );
  Reflect.deleteProperty(Object(members), plain ?? quoted ?? "");
}

function isAboutFile({ message }: Diagnostic): boolean {
  return message.startsWith("Cannot read ") || message.includes("no such file");
}

/** Values of variables that are not set here. */
const placeholders = new Proxy<Record<string, string>>({}, {
  get: () => "placeholder-of-sixteen-characters",
  has: () => true,
});

function printConfiguration(
  rest: object,
  routes: readonly RouteImport[],
): string {
  const backends = routes.flatMap(({ backends = [] }) => backends);
  const document = {
    ...rest,
    routes: routes.map(({ route }) => route),
    ...(backends.length > 0 && { backends }),
  };
  // JSON has no `undefined`.
  return printYaml(JSON.parse(JSON.stringify(document)));
}

async function writeNew(file: string, text: string): Promise<void> {
  try {
    await Deno.writeTextFile(file, text, { createNew: true });
  } catch (error) {
    throw new Failure(`Cannot write "${file}": ${describeReadError(error)}`);
  }
}
