import {
  type ConnectingSite,
  startConnectingSite,
} from "../harness/gateway/connecting_gateway.ts";
import { startUserService } from "../harness/login/user_service.ts";
import { callModern } from "../harness/mcp/modern_call.ts";
import { freePort } from "../harness/process/free_port.ts";
import type { Repetition } from "./jwt.ts";
import { callOf, compareContenders } from "./mcp.ts";
import { type Neighbour, startDeno, startGatewayFrom } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

const USER = "anna";
const TOOL = "tool_1";
const SERVER_PATH = "/modern/10";

/** Compares calls with a token of the user, which the vault keeps, with the same calls with a key. */
export async function* vaultRows(
  { rounds, seconds }: Repetition,
): AsyncGenerator<Row> {
  await using site = await startConnectingSite();
  await using service = await startUserService();
  await using tokens = startTokenServer();
  await using upstream = await startDeno("mcp_upstream.ts", [], "beside");
  const start = (credentials: unknown, port = freePort()) =>
    startAt(site, port, {
      name: "s1",
      url: `http://127.0.0.1:${upstream.port}${SERVER_PATH}`,
      credentials,
    });
  await using keyed = await start({ key: "a-key-for-all-callers" });
  const rows = {
    exchanged: {
      tokenExchange: {
        tokenEndpoint: `http://127.0.0.1:${tokens.addr.port}/token`,
        clientId: "gateway",
        clientSecret: { key: "a-secret" },
      },
    },
    "of an account": { oauth: { resource: service.resource } },
  };
  for (const [what, credentials] of Object.entries(rows)) {
    // Users connect their accounts at the origin of the pages.
    await using vaulted = await start(credentials, site.port);
    await connect(site);
    const { perCpu, cpuMicros, instructions } = await compareContenders(
      await contender(site, keyed),
      await contender(site, vaulted),
      rounds,
      seconds,
    );
    const title = `tools/call, token of the vault, ${what} / key`;
    yield row(title, perCpu, "x", { atLeast: 0.9 }, cpuMicros, instructions);
  }
}

/** Starts an authorization server that issues the same token for every other one. */
function startTokenServer() {
  return Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () =>
      Response.json({
        access_token: "a-token-of-the-caller",
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        token_type: "Bearer",
        expires_in: 3600,
      }),
  );
}

/** Starts a gateway of the site in front of an MCP server. */
async function startAt(
  site: ConnectingSite,
  port: number,
  server: Readonly<Record<string, unknown>>,
): Promise<Neighbour> {
  const config = {
    ...site.configure({
      backend: { mcp: { servers: [server], prefix: "Never" } },
      config: {
        adminAddr: "off",
        statsAddr: "off",
        accessLog: { enabled: false },
        logging: { level: "warn" },
      },
    }),
    gateways: { default: { port } },
  };
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(config));
  return await startGatewayFrom(file, port);
}

/** Connects the account of the user, if the server has users log in. @throws {Error} When calls fail after that. */
async function connect(site: ConnectingSite): Promise<void> {
  const authorization = await site.authorization(USER);
  const call = async () => {
    const params = { name: TOOL, arguments: {} };
    const { text } = await callModern(
      `${site.origin}/mcp`,
      "tools/call",
      params,
      { headers: { authorization } },
    );
    return text;
  };
  const link = /http:[^" ]*\/connections\/connect\?request=[\w-]+/
    .exec(await call());
  if (link !== null) await site.user(USER).connect(link[0]);
  const text = await call();
  if (!text.includes("some words")) throw new Error(`Cannot call: ${text}`);
}

async function contender(site: ConnectingSite, target: Neighbour) {
  const requests = await callOf(target, "/mcp", "modern", TOOL);
  const authorization = await site.authorization(USER);
  const headers = { ...requests.headers, authorization };
  return { target, requests: { ...requests, headers } };
}
