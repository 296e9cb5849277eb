/** Tokens of callers in the vault: replicas, workers and the next process share them, and nobody can read them there. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { textSource, validateConfiguration } from "../../../mod.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import {
  CLIENT_SECRET,
  startTokenServer,
  type TokenServer,
} from "../../harness/login/token_server.ts";
import { jwksOf } from "../../harness/login/tokens.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";

const FIRST = "first key, of at least 32 characters";
const SECOND = "second key, of at least 32 characters";
const USERS = ["anna", "ben", "carla"];

type Fields = Readonly<Record<string, unknown>>;

/** A backend that returns the token that it got, and rejects those in `rejected`. */
function startBackend() {
  const rejected = new Set<string>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      const token = request.headers.get("authorization")?.split(" ")[1] ?? "";
      return new Response(token, { status: rejected.has(token) ? 401 : 200 });
    },
  );
  return {
    rejected,
    port: server.addr.port,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function startReplica(
  { users, idp }: TokenServer,
  port: number,
  config: Fields,
): Promise<TestGateway> {
  const provider = {
    issuer: users.issuer,
    audiences: ["https://gw.example/mcp"],
    jwks: { inline: jwksOf(users) },
  };
  const tokenExchange = {
    issuer: idp.issuer,
    clientId: "gateway",
    clientSecret: { key: CLIENT_SECRET },
    resource: "https://api.example/",
  };
  return startTestGateway({
    config,
    backends: [{
      name: "api",
      static: { host: "127.0.0.1", port },
      credentials: { tokenExchange },
    }],
    routes: [{
      policies: { jwtAuthentication: { providers: [provider] } },
      backends: [{ backend: "api" }],
    }],
  });
}

/** Returns the token that the backend got from a user. */
async function tokenOf(
  { origin }: TestGateway,
  { users }: TokenServer,
  sub: string,
): Promise<string> {
  const authorization = `Bearer ${await users.sign({ sub })}`;
  const response = await fetch(origin, { headers: { authorization } });
  assert.equal(response.status, 200);
  return await response.text();
}

/** A store, and all bytes that are in it. */
interface Store extends AsyncDisposable {
  readonly kv: Fields;
  content(): Promise<string>;
}

async function readAll(folder: string): Promise<string> {
  const texts: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    const bytes = await Deno.readFile(join(folder, name));
    texts.push(new TextDecoder("latin1").decode(bytes));
  }
  return texts.join("\n");
}

async function openFile(): Promise<Store> {
  const folder = await Deno.makeTempDir();
  return {
    kv: { path: join(folder, "store.sqlite") },
    content: () => readAll(folder),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

const stores: Readonly<Record<string, () => Promise<Store>>> = {
  "Deno KV": openFile,
  async Redis() {
    const server = await RedisServer.start();
    return {
      kv: { redis: server.url },
      content: () => server.content(),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

for (const [name, open] of Object.entries(stores)) {
  Deno.test(`replicas and workers get one token for each user, and the next process has it: ${name}`, async () => {
    await using server = await startTokenServer();
    await using backend = startBackend();
    await using store = await open();
    const config = { kv: store.kv, vault: { keys: [FIRST] }, workers: 2 };
    const tokens: string[] = [];
    let requests = 0;
    {
      await using one = await startReplica(server, backend.port, config);
      await using two = await startReplica(server, backend.port, config);
      const tokensOf = async (user: string) => {
        const replicas = [one, two, one, two, one, two];
        const got = await Promise.all(
          replicas.map((replica) => tokenOf(replica, server, user)),
        );
        return [...new Set(got)];
      };
      // Until all workers have opened the store.
      for (let round = 0; (await tokensOf(`early${round}`)).length > 1;) {
        round++;
      }
      requests = server.requests.length;
      for (const user of USERS) {
        const [token = "", ...others] = await tokensOf(user);
        assert.deepEqual(others, []);
        tokens.push(token);
      }
      assert.equal(server.requests.length, requests + USERS.length);
    }
    await using next = await startReplica(server, backend.port, config);
    for (const [index, user] of USERS.entries()) {
      assert.equal(await tokenOf(next, server, user), tokens[index]);
    }
    assert.equal(new Set(tokens).size, USERS.length);
    assert.equal(server.requests.length, requests + USERS.length);

    backend.rejected.add(tokens[0] ?? "");
    const [renewed] = await Promise.all([
      tokenOf(next, server, "anna"),
      tokenOf(next, server, "anna"),
    ]);
    assert.notEqual(renewed, tokens[0]);
    assert.equal(server.requests.length, requests + USERS.length + 1);

    const content = await store.content();
    assert.match(content, /vault/);
    for (const secret of [...tokens, renewed, CLIENT_SECRET, FIRST, "anna"]) {
      assert(!content.includes(secret), `${name} has ${secret.slice(0, 12)}`);
    }
  });
}

Deno.test("a key in a file is replaced without a restart and without a loss", async () => {
  await using server = await startTokenServer();
  await using backend = startBackend();
  await using store = await openFile();
  const keyFile = await Deno.makeTempFile();
  try {
    const start = () =>
      startReplica(server, backend.port, {
        kv: store.kv,
        vault: { keyFile },
        workers: 1,
      });
    await Deno.writeTextFile(keyFile, `${FIRST}\n`);
    let token: string;
    {
      await using replica = await start();
      token = await tokenOf(replica, server, "anna");
    }
    await Deno.writeTextFile(keyFile, `${SECOND}\n${FIRST}\n`);
    {
      await using replica = await start();
      assert.equal(await tokenOf(replica, server, "anna"), token);
    }
    await Deno.writeTextFile(keyFile, `${SECOND}\n`);
    {
      await using replica = await start();
      assert.equal(await tokenOf(replica, server, "anna"), token);
    }
    assert.equal(server.requests.length, 1);
  } finally {
    await Deno.remove(keyFile);
  }
});

Deno.test("without the key or the store, each process gets tokens for itself, and leaves what it cannot open", async () => {
  await using server = await startTokenServer();
  await using backend = startBackend();
  await using store = await openFile();
  const configOf = (kv: Fields, key: string) => ({
    kv,
    vault: { keys: [key] },
    workers: 1,
  });
  await using first = await startReplica(
    server,
    backend.port,
    configOf(store.kv, FIRST),
  );
  const token = await tokenOf(first, server, "anna");
  for (
    const config of [
      configOf(store.kv, SECOND),
      configOf({ redis: "redis://127.0.0.1:1" }, FIRST),
    ]
  ) {
    await using other = await startReplica(server, backend.port, config);
    assert.notEqual(await tokenOf(other, server, "anna"), token);
    assert.match(other.log.join("\n"), /Cannot use the vault/);
  }
  await using again = await startReplica(
    server,
    backend.port,
    configOf(store.kv, FIRST),
  );
  assert.equal(await tokenOf(again, server, "anna"), token);
});

Deno.test("a vault without a store or with short keys is an error of the configuration", async () => {
  const kv = { path: "store.sqlite" };
  for (
    const [config, expected] of [
      [{ vault: { keys: [FIRST] } }, /needs "kv"/],
      [{ kv, vault: {} }, /"keys" or "keyFile" is required/],
      [{ kv, vault: { keys: ["short"] } }, /at least 32 characters/],
    ] as const
  ) {
    const { text } = await validateConfiguration(
      textSource(JSON.stringify({ config })),
      {},
    );
    assert.match(text, expected);
  }
  await assert.rejects(
    startTestGateway({ config: { kv, vault: { keyFile: "/no/such" } } }),
    /Cannot use the keys of the vault in "\/no\/such"/,
  );
});
