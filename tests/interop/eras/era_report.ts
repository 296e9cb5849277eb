import config from "../../../deno.json" with { type: "json" };
import { alignedTable } from "../mcp/conformance_report.ts";
import {
  type Check,
  type Era,
  type Feature,
  features,
  type Peer,
} from "./era_features.ts";

/** A row of the tables: what a client gets of a server, by feature. */
export interface EraRow {
  readonly client: Peer;
  readonly server: Peer;
  readonly cells: readonly string[];
}

/** A cell before the run: a check, whose success has the value `yes`, or a note in its place. */
export type CellPlan =
  | { readonly check: Check; readonly yes: string }
  | { readonly note: string };

/** Returns the plan of a cell. */
export function planOf(client: Peer, server: Peer, feature: Feature): CellPlan {
  if (feature === "resumption" && client.era === "modern") return { note: "a" };
  if (server.lacks.includes(feature)) return { note: "b" };
  const runsTask = client.era === server.era && !client.lacks.includes("task");
  return feature === "task" && !runsTask
    ? { check: "awaited", yes: "c" }
    : { check: feature, yes: "yes" };
}

/** Writes a row as it is in the page, without alignment. */
export function rowText({ client, server, cells }: EraRow): string {
  return `| ${[client.name, server.name, ...cells].join(" | ")} |`;
}

const eraNames = { legacy: "until 2025-11-25", modern: "of 2026-07-28" };

/** Writes the page. */
export function eraReport(rows: readonly EraRow[]): string {
  const [sdk1, client2, server2] = [
    "@modelcontextprotocol/sdk",
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/server",
  ].map((name) => specifiers[name]?.replace("npm:", ""));
  const sections = eras.flatMap((client) =>
    eras.map((server) => section(client, server, rows))
  );
  return `# MCP clients and servers of all eras

Real clients, at one endpoint with real servers of both eras. A cell is \`yes\` if
the client got what the server offers. "Legacy" is an SDK with revisions until
2025-11-25, "modern" one with 2026-07-28. Clients that resume lose the
connection during a call.

- **a**: not in the protocol; streams of 2026-07-28 cannot be resumed
- **b**: the SDK of the server has no such thing
- **c**: the client calls the tool, and the gateway waits for the task; tasks
  have another form in each era, and not all SDKs of clients have them

SDKs in npm: \`${sdk1}\`,
\`${client2}\`, \`${server2}\`. SDKs
in PyPI: \`mcp\` 1.30 and 2.3, \`fastmcp\` 4.1. \`GOLDEN=update make interop-python\`
writes this page.
${sections.join("")}`;
}

const specifiers: Readonly<Record<string, string>> = config.imports;
const eras: readonly Era[] = ["legacy", "modern"];

function section(
  client: Era,
  server: Era,
  rows: readonly EraRow[],
): string {
  const own = rows.filter((row) =>
    row.client.era === client && row.server.era === server
  );
  const table = alignedTable([
    ["client", "server", ...features],
    ...own.map((row) => [row.client.name, row.server.name, ...row.cells]),
  ]);
  return `\n## Clients ${eraNames[client]}, servers ${
    eraNames[server]
  }\n\n${table}`;
}
