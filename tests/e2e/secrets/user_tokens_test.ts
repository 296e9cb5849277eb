/**
 * Tokens of `credentials: { oauth: {} }` are in clear in the requests to the service, and in the memory of the process that sends
 * them: everything that leaves the process, and everything that it keeps, is searched for them.
 */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { isJsonObject, stringMember } from "../../../src/base/json.ts";
import {
  recordKey,
  type VaultId,
  VaultSeal,
} from "../../../src/identity/vault/vault_seal.ts";
import {
  backendOf,
  LOGIN_SECRET,
  sendAs,
  startConnectingSite,
  VAULT_KEY,
} from "../../harness/gateway/connecting_gateway.ts";
import { startUserService } from "../../harness/login/user_service.ts";
import { startOtlpCollector } from "../../harness/servers/otlp_collector.ts";

const adminToken = "an-admin-token-of-this-test";

/** Endpoints of the admin interface with descriptions. */
const adminPaths = [
  "/config_dump",
  "/connections",
  "/requests",
  "/traffic?minutes=5",
  "/usage",
  "/audit",
  "/debug/tasks",
  "/ui/api/config",
];

/** Returns the private keys of accounts, which a vault has. */
async function keysIn(storePath: string): Promise<readonly string[]> {
  const seal = new VaultSeal(() => [VAULT_KEY]);
  const empty = { issuer: "", subject: "", server: "", resource: "" };
  const purpose = { ...empty, client: "listed connection" };
  const open = (id: VaultId, value: unknown) =>
    isJsonObject(value)
      ? seal.open(id, stringMember(value, "sealed") ?? "")?.value ?? {}
      : {};
  const keys: string[] = [];
  using kv = await Deno.openKv(storePath);
  for await (const { value } of kv.list({ prefix: ["connections"] })) {
    const read = open(purpose, value);
    const text = (name: string) => stringMember(read, name) ?? "";
    const id = {
      issuer: text("issuer"),
      subject: text("subject"),
      server: text("server"),
      resource: text("resource"),
      client: text("client"),
    };
    const { proofKey } = open(id, (await kv.get(recordKey(id))).value);
    if (isJsonObject(proofKey)) keys.push(stringMember(proofKey, "d") ?? "");
  }
  return keys;
}

for (const wantsProofs of [false, true]) {
  const what = wantsProofs
    ? "tokens of users that are bound to keys, and the keys,"
    : "tokens of users at services";
  Deno.test(`${what} are nowhere in clear: store, logs, traces, metrics, profiles, admin interface`, () =>
    searchFor(wantsProofs));
}

async function searchFor(wantsProofs: boolean): Promise<void> {
  await using collector = await startOtlpCollector("http");
  await using service = await startUserService({ wantsProofs });
  const planted = new Set<string>();
  service.handle = ({ headers }) => {
    planted.add(headers.get("authorization")?.split(" ")[1] ?? "");
    return new Response("ok");
  };
  await using site = await startConnectingSite();
  await using gateway = await site.startProcess({
    backends: [backendOf(service)],
    backend: { backend: "drive" },
    config: {
      adminToken,
      workers: 1,
      logging: { level: "trace" },
      otlp: { endpoint: collector.endpoint },
      tracing: {},
    },
  });
  const get = async (origin: string, path: string) => {
    const headers = { authorization: `Bearer ${adminToken}` };
    const response = await fetch(origin + path, { headers });
    return new Uint8Array(await response.arrayBuffer());
  };
  await get(gateway.admin, "/debug/pprof/heap");
  // The first token is renewed at once, the second one is kept.
  service.lifetime = 60;
  await site.user("anna").connect((await sendAs(site, "anna")).link);
  service.lifetime = 3600;
  const trace = get(gateway.admin, "/debug/trace?count=1");
  assert.equal((await sendAs(site, "anna")).status, 200);
  service.fault = { status: 400, body: { error: "invalid_request" } };
  service.rejected.add([...planted].at(-1) ?? "");
  assert.notEqual((await sendAs(site, "anna")).status, 200);
  for (const request of service.tokenRequests) {
    for (const name of ["refresh_token", "code", "code_verifier"]) {
      if (name in request) planted.add(String(request[name]));
    }
  }
  planted.add((await site.authorization("anna")).split(".")[2] ?? "");
  planted.add(LOGIN_SECRET).add(VAULT_KEY).delete("");
  assert(planted.size >= 6, `${planted.size} tokens`);
  const keys = await keysIn(site.storePath);
  assert.deepEqual(keys.map(({ length }) => length), wantsProofs ? [43] : []);
  for (const key of keys) planted.add(key);
  await collector.until(() => collector.spans.length > 0);

  const shown = new Map<string, Uint8Array>();
  const folder = dirname(site.storePath);
  for await (const { name } of Deno.readDir(folder)) {
    shown.set(name, await Deno.readFile(join(folder, name)));
  }
  for (const path of adminPaths) {
    shown.set(path, await get(gateway.admin, path));
  }
  const heap = await get(gateway.admin, "/debug/pprof/heap");
  const encode = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value));
  shown.set("heap profile", gunzipSync(heap));
  shown.set("trace", await trace);
  shown.set("metrics", await get(gateway.stats, "/metrics"));
  shown.set("OTLP", encode(collector.received));
  shown.set("log", encode(gateway.log.all));
  shown.set("access log", encode(gateway.accessLog.all));

  for (const [place, bytes] of shown) {
    assert(bytes.length > 0, `${place} is empty`);
    const text = new TextDecoder("latin1").decode(bytes);
    for (const secret of planted) {
      assert(!text.includes(secret), `${place} has ${secret}`);
    }
  }
}
