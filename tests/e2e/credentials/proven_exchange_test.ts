/** Tokens of callers that are bound to a key (DPoP, RFC 9449): the vault has the key, and every process proves with it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { ProofVerifier } from "../../harness/login/proof_verifier.ts";
import {
  CLIENT_SECRET,
  startTokenServer,
  type TokenServer,
} from "../../harness/login/token_server.ts";
import { jwksOf } from "../../harness/login/tokens.ts";

const AUDIENCE = "https://api.example/";

/** A service that accepts only tokens with proofs, and says whose they are. */
function startService({ idp }: TokenServer) {
  const proofs = new ProofVerifier(idp);
  const tokens = new Set<string>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const denied = await proofs.rejectionOf(request, AUDIENCE);
      if (denied !== undefined) return denied;
      const token = request.headers.get("authorization")?.split(" ")[1] ?? "";
      tokens.add(token);
      return new Response(token.split(".")[1]);
    },
  );
  return {
    proofs,
    tokens,
    port: server.addr.port,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function startGateway(
  { idp, users }: TokenServer,
  port: number,
  path: string,
  dpop: string,
): Promise<GatewayProcess> {
  const provider = {
    issuer: users.issuer,
    audiences: ["https://gw.example/mcp"],
    jwks: { inline: jwksOf(users) },
  };
  const tokenExchange = {
    issuer: idp.issuer,
    clientId: "gateway",
    clientSecret: { key: CLIENT_SECRET },
    resource: AUDIENCE,
    dpop,
  };
  return GatewayProcess.start({
    config: {
      config: {
        kv: { path },
        vault: { keys: ["a vault key of at least 32 characters"] },
        workers: 2,
      },
      backends: [{
        name: "api",
        static: { host: "127.0.0.1", port },
        credentials: { tokenExchange },
      }],
      routes: [{
        policies: { jwtAuthentication: { providers: [provider] } },
        backends: [{ backend: "api" }],
      }],
    },
  });
}

for (const dpop of ["Auto", "Required"]) {
  Deno.test(`an exchanged token and its key are in the vault, for workers and the next process: dpop ${dpop}`, async () => {
    await using server = await startTokenServer();
    await using service = startService(server);
    const { proofs, tokens } = service;
    const folder = await Deno.makeTempDir();
    const path = join(folder, "store.sqlite");
    try {
      const start = () => startGateway(server, service.port, path, dpop);
      const statusesOf = async ({ origin }: GatewayProcess, sub: string) => {
        const authorization = `Bearer ${await server.users.sign({ sub })}`;
        const sent = Array.from(
          { length: 8 },
          () => fetch(origin, { headers: { authorization } }),
        );
        return await Promise.all((await Promise.all(sent)).map(
          async (response) => {
            await response.body?.cancel();
            return response.status;
          },
        ));
      };
      const statuses: number[] = [];
      {
        await using gateway = await start();
        statuses.push(...await statusesOf(gateway, "anna"));
        statuses.push(...await statusesOf(gateway, "ben"));
      }
      const issued = server.requests.length;
      await using next = await start();
      statuses.push(...await statusesOf(next, "anna"));

      assert.deepEqual(new Set(statuses), new Set([200]));
      // Of each user, in both processes and all of their workers.
      assert.equal(tokens.size, 2);
      assert.equal(new Set(proofs.keys).size, 2);
      assert.equal(server.requests.length, issued);
      const content = new TextDecoder("latin1")
        .decode(await Deno.readFile(path));
      for (const secret of [...tokens, ...proofs.keys]) {
        assert(!content.includes(secret));
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
