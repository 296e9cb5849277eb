import { createTokenIssuer, jwksOf } from "../harness/login/tokens.ts";
import type { Repetition } from "./jwt.ts";
import { callOf, compareContenders } from "./mcp.ts";
import { type Neighbour, startDeno, startGatewayWith } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

const PATH = "/modern/10";

/** Compares calls with a token of the caller, which the vault keeps, with the same calls with a key. */
export async function vaultRows(
  { rounds, seconds }: Repetition,
): Promise<readonly Row[]> {
  const issuer = await createTokenIssuer({ now: Date.now() + 3_600_000 });
  await using tokens = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () =>
      Response.json({
        access_token: "a-token-of-the-caller",
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        token_type: "Bearer",
        expires_in: 3600,
      }),
  );
  await using upstream = await startDeno("mcp_upstream.ts", [], "beside");
  const folder = await Deno.makeTempDir();
  const start = (credentials: unknown): Promise<Neighbour> =>
    startGatewayWith({
      routes: [{
        policies: {
          jwtAuthentication: {
            providers: [{
              issuer: issuer.issuer,
              audiences: ["https://gw.example/mcp"],
              jwks: { inline: jwksOf(issuer) },
            }],
          },
        },
        backends: [{
          mcp: {
            servers: [{
              name: "s1",
              url: `http://127.0.0.1:${upstream.port}${PATH}`,
              credentials,
            }],
            prefix: "Never",
          },
        }],
      }],
    }, {
      kv: { path: `${folder}/store.sqlite` },
      vault: { keys: ["a vault key of at least 32 characters"] },
    });
  try {
    await using keyed = await start({ key: "a-key-for-all-callers" });
    await using vaulted = await start({
      tokenExchange: {
        tokenEndpoint: `http://127.0.0.1:${tokens.addr.port}/token`,
        clientId: "gateway",
        clientSecret: { key: "a-secret" },
      },
    });
    const authorization = `Bearer ${await issuer.sign({ sub: "anna" })}`;
    const requestsTo = async (target: Neighbour) => {
      const requests = await callOf(target, "/mcp", "modern", "tool_1");
      return {
        target,
        requests: {
          ...requests,
          headers: { ...requests.headers, authorization },
        },
      };
    };
    const { perCpu, cpuMicros, instructions } = await compareContenders(
      await requestsTo(keyed),
      await requestsTo(vaulted),
      rounds,
      seconds,
    );
    const what = "tools/call, token of the vault / key";
    return [row(what, perCpu, "x", { atLeast: 0.9 }, cpuMicros, instructions)];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
