/** Logins by configuration and client: some that cover all pairs of their axes, or with `LOGIN_MATRIX=whole` all of them. */
import assert from "node:assert/strict";
import { coverPairs } from "../../harness/llm/covering.ts";
import {
  type ClientTraits,
  describeSetting,
  failureOf,
  type LoginCell,
  type LoginSetting,
  readLoginCells,
} from "../../harness/login/login_cells.ts";
import {
  type LoginSite,
  startLoginSite,
} from "../../harness/login/login_site.ts";
import {
  clientV2,
  type McpClient,
  mcpRemote,
  sdkV1,
  statelessClient,
} from "../../harness/clients/mcp_clients.ts";

/** Cells at the same time. */
const CONCURRENCY = 4;

interface TestedClient extends McpClient, ClientTraits {
  tries(setting: LoginSetting): boolean;
}

const clients: readonly TestedClient[] = [
  { ...sdkV1, language: "TypeScript", isStrict: false, tries: () => true },
  { ...clientV2, language: "TypeScript", isStrict: true, tries: () => true },
  {
    ...statelessClient,
    language: "TypeScript",
    isStrict: true,
    tries: ({ issuerMode }) => issuerMode === "Proxied",
  },
  {
    ...mcpRemote,
    language: "TypeScript",
    isStrict: true,
    // It is a process for each cell, so it leaves out those that check less than another one.
    tries: ({ issuerMode, sendsIssuer, identity }) =>
      issuerMode === "Gateway" ||
      identity !== "registers at the gateway" &&
        (issuerMode === "Proxied" || sendsIssuer),
  },
];

Deno.test("every client logs in where docs/mcp_login_reference.md says, refreshes its token and calls a tool, and nowhere else", async () => {
  await using site = await startLoginSite();
  const whole = (await readLoginCells()).flatMap((cell) =>
    clients.filter((client) => client.tries(cell)).map((client) => ({
      client,
      cell,
    }))
  );
  const cells = Deno.env.get("LOGIN_MATRIX") === "whole"
    ? whole
    : coverPairs(whole, axesOf);
  const surprises: string[] = [];
  async function work() {
    for (let next = cells.pop(); next !== undefined; next = cells.pop()) {
      const { client, cell } = next;
      const surprise = await tryCell(site, client, cell);
      if (surprise !== undefined) {
        surprises.push(
          `${client.name}, ${describeSetting(cell)}: ${surprise}`,
        );
      }
    }
  }

  await Promise.all(Array.from({ length: CONCURRENCY }, work));

  assert.deepEqual(surprises.sort(), []);
});

function axesOf(
  { client, cell }: { client: TestedClient; cell: LoginCell },
): readonly unknown[] {
  const { issuerMode, provider, sendsIssuer, identity } = cell;
  const logsIn = cell.logsIn(client);
  return [
    // The section of the documentation that a user reads.
    `${issuerMode} with ${provider}`,
    sendsIssuer,
    identity,
    client.name,
    logsIn,
  ];
}

/** Returns how the result differs from the documentation. */
async function tryCell(
  site: LoginSite,
  client: TestedClient,
  cell: LoginCell,
): Promise<string | undefined> {
  const mayLogIn = cell.logsIn(client);
  try {
    await using connection = await client.connect(await site.visitOf(cell));
    const echo = await connection.callTool("echo", { message: "hello" });
    if (!echo.includes("hello")) return `echo returned ${echo}`;
    if (!mayLogIn) return "logs in, against the documentation";
    if (cell.issuerMode === "Proxied") {
      await connection.expireToken();
      const again = await connection.callTool("echo", { message: "again" });
      if (!again.includes("again")) return `echo returned ${again}`;
    }
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (mayLogIn) return `cannot log in: ${message}`;
    const failure = failureOf(cell, client);
    return failure.test(message)
      ? undefined
      : `expected ${failure}, got ${message}`;
  }
}
