import config from "../../../deno.json" with { type: "json" };

/** Results of a run: by scenario, its checks as `id: STATUS`. */
export interface Column {
  readonly name: string;
  readonly scenarios: Readonly<Record<string, readonly string[]>>;
}

/** Writes the report that is in the documentation. @param tables As of `tableOf`. */
export function reportOf(tables: readonly string[]): string {
  const suite = config.imports["@modelcontextprotocol/conformance"]
    .replace("npm:", "");
  return `# MCP conformance

Suite: \`${suite}\`

An endpoint with several MCP servers, tested with the official suite. A cell has
the number of checks that passed, of those that were made. In front of several
servers, the endpoint passes for its first server what that passes itself; one
of the others is down, and each of the rest has a tool and one that is invalid.
The suite does not score the scenarios that begin with \`tasks-\`.
[MCP servers](../mcp_servers.md) says what cannot be translated to a server
until 2025-11-25. \`GOLDEN=update make test TESTS=tests/interop/mcp\` writes this
page.
${tables.join("")}`;
}

/** Writes the report about authorization that is in the documentation. @param tables As of `tableOf`. */
export function authorizationReportOf(tables: readonly string[]): string {
  const suite = config.imports["@modelcontextprotocol/conformance"]
    .replace("npm:", "");
  return `# MCP conformance: authorization

Suite: \`${suite}\`

The scenarios of the official suite for clients that need authorization, with a
gateway as the client of its servers. A user opens the page of the gateway for
the account, logs in, and calls the tools with \`credentials: { oauth: {} }\`;
scenarios without users use \`clientCredentials\`, \`jwtBearer\` and
\`identityAssertion\`. See [credentials](../credentials.md). A cell has the number
of different checks that passed, of those that were made.

What is not as a user would have it by default:

- \`auth/basic-cimd\` wants a client ID on the host of the suite, so \`clientId\`
  has that URL; by default it is a document of the gateway.
- \`auth/enterprise-managed-authorization\`: the identity provider of the suite
  publishes no keys, so a server of the test introspects the token of the user.

\`GOLDEN=update make test TESTS=tests/interop/mcp/auth_conformance_test.ts\`
writes this page.
${tables.join("")}`;
}

/** Writes a table with a row for each scenario. */
export function tableOf(title: string, columns: readonly Column[]): string {
  const scenarios = [
    ...new Set(columns.flatMap(({ scenarios }) => Object.keys(scenarios))),
  ].sort();
  const rows = [
    ["scenario", ...columns.map(({ name }) => name)],
    ...scenarios.map((scenario) => [
      scenario,
      ...columns.map(({ scenarios }) => cellOf(scenarios[scenario] ?? [])),
    ]),
    [
      "all",
      ...columns.map(({ scenarios }) =>
        cellOf(Object.values(scenarios).flat())
      ),
    ],
  ];
  return `\n## ${title}\n\n${alignedTable(rows)}`;
}

/** Writes a table as the formatter does. @param rows The first one is the head. */
export function alignedTable(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const widths = head.map((_, at) =>
    Math.max(3, ...rows.map((row) => row[at]?.length ?? 0))
  );
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |\n`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |\n`;
  return `${line(head)}${rule}${body.map(line).join("")}`;
}

/** Skipped checks were not made. */
function cellOf(checks: readonly string[]): string {
  const made = checks.filter((check) => !check.endsWith(": SKIPPED"));
  const passed = made.filter((check) => check.endsWith(": SUCCESS"));
  return `${passed.length}/${made.length}`;
}
