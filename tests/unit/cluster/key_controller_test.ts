import assert from "node:assert/strict";
import {
  KeyController,
  type KeyStoreCommand,
} from "../../../src/cluster/keys/key_controller.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { RecordedLog } from "../../harness/telemetry/recorded_log.ts";
import {
  type ApiCall,
  failure,
  FakeApiServer,
  list,
} from "./client/fake_api_server.ts";

const GROUP = "policy.gateway.internal";

const kinds: Readonly<Record<string, string>> = {
  gatewaykeys: "GatewayKey",
  gatewayteams: "GatewayTeam",
  gatewayusers: "GatewayUser",
  secrets: "Secret",
};

function declared(kind: string, name: string, spec: object = {}) {
  const metadata = { name, namespace: "blue", uid: name, generation: 1 };
  return { apiVersion: `${GROUP}/v1alpha1`, kind, metadata, spec };
}

/** Runs a controller until it has written a status; returns what it asked of the store and of the API server. */
async function reconcile(
  objects: Readonly<Record<string, readonly object[]>>,
  respond: (call: ApiCall) => Response | object | undefined = () => undefined,
) {
  const stop = new AbortController();
  const commands: KeyStoreCommand[] = [];
  const written = Promise.withResolvers<ApiCall>();
  const read = ({ path }: ApiCall) => {
    const kind = kinds[path.split("/").at(-1) ?? ""] ?? "";
    const apiVersion = kind === "Secret" ? "v1" : `${GROUP}/v1alpha1`;
    return {
      ...list(objects[kind] ?? [], "1"),
      apiVersion,
      kind: `${kind}List`,
    };
  };
  await using server = new FakeApiServer((call) => {
    if (call.method === "PUT") written.resolve(call);
    return respond(call) ?? (call.method === "GET" ? read(call) : {});
  });
  const controller = new KeyController({
    ...{ api: server.api, clock: new FakeClock(), log: new RecordedLog() },
    ...{ random: () => 0, policyApiGroup: GROUP, namespaces: [] },
    ...{ controllerName: "c", identity: "pod", namespace: "system" },
  });
  const running = controller.run((command) => {
    commands.push(command);
    return Promise.resolve(
      command.do === "declare"
        ? {
          result: "changed",
          object: { id: `blue.${command.object.name}` },
        }
        : { result: "found" },
    );
  }, stop.signal);
  const { body } = await written.promise;
  stop.abort();
  await running;
  return { commands, status: isJsonObject(body) ? body["status"] : undefined };
}

Deno.test("owners are declared before their keys, with the hash of the key in place of the key", async () => {
  const { commands } = await reconcile({
    GatewayKey: [declared("GatewayKey", "ci", { team: "ai" })],
    GatewayTeam: [declared("GatewayTeam", "ai")],
    Secret: [{
      metadata: { name: "ci", namespace: "blue" },
      data: { key: btoa("sk-1234567890abcdefghij") },
    }],
  });
  const names = commands.slice(0, 5).map((command) =>
    command.do === "declare"
      ? `${command.kind} ${command.object.name}`
      : `prune ${command.kind}: ${command.keep}`
  );
  assert.deepEqual(names, [
    "team ai",
    "prune team: blue.ai",
    "prune user: ",
    "key ci",
    "prune key: blue.ci",
  ]);
  assert(!JSON.stringify(commands).includes("abcdefghij"));
});

Deno.test("nothing is revoked while a kind cannot be read", async () => {
  const stop = new AbortController();
  const asked = Promise.withResolvers<void>();
  await using server = new FakeApiServer(({ path }) => {
    if (!path.endsWith("gatewayusers")) return list([], "1");
    asked.resolve();
    return failure(403, "Forbidden");
  });
  const controller = new KeyController({
    ...{ api: server.api, clock: new FakeClock(), log: new RecordedLog() },
    ...{ random: () => 0, policyApiGroup: GROUP, namespaces: [] },
    ...{ controllerName: "c", identity: "pod", namespace: "system" },
  });
  let commands = 0;
  const running = controller.run(() => {
    commands++;
    return Promise.resolve({ result: "found" });
  }, stop.signal);
  await asked.promise;
  await server.nextWatch();
  stop.abort();
  await running;
  assert.equal(commands, 0);
});

Deno.test("a key without a Secret gets one that ends with it; without the right, its status says so", async () => {
  const made: unknown[] = [];
  const objects = { GatewayKey: [declared("GatewayKey", "ci")] };
  await reconcile(objects, ({ method, body }) => {
    if (method === "POST") made.push(body);
    return undefined;
  });
  const [secret] = made;
  assert(isJsonObject(secret) && isJsonObject(secret["metadata"]));
  assert.deepEqual(secret["metadata"], {
    name: "ci",
    labels: { [`${GROUP}/credentials`]: "key" },
    ownerReferences: [{
      apiVersion: `${GROUP}/v1alpha1`,
      ...{ kind: "GatewayKey", name: "ci", uid: "ci" },
    }],
  });

  const { status, commands } = await reconcile(
    objects,
    ({ method, path }) =>
      method === "POST" && path.endsWith("secrets")
        ? failure(403, "Forbidden")
        : undefined,
  );
  assert(isJsonObject(status) && Array.isArray(status["conditions"]));
  assert.equal(status["conditions"][0].reason, "SecretNotFound");
  assert(commands.every((command) => command.do === "prune"));
});
