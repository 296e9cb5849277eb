import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { create, keyedPolicies } from "../../harness/keys/stored_keys.ts";

const owner = {
  issuer: "https://login.example",
  subject: "ada",
  name: "Ada",
  team: "blue",
};

Deno.test("two processes that share a store make no more keys together than the team allows", async () => {
  const folder = await Deno.makeTempDir();
  const config = {
    config: { kv: { path: `${folder}/keys.db` } },
    routes: [{ name: "hello", policies: keyedPolicies }],
  };
  await using one = await startTestGateway(config);
  await using other = await startTestGateway(config);
  const gateways = [one, other];
  await create(one, "team", {
    id: "blue",
    selfService: { maxKeys: 3, maxLifetime: "24h" },
  });

  const answers = await Promise.all(
    [0, 1, 2, 3, 4].flatMap((number) =>
      gateways.map(({ gateway }) =>
        gateway.dataPlane.call("ownKeys", {
          do: "create",
          owner,
          fields: { name: `key ${number}` },
        })
      )
    ),
  );
  const list = await other.gateway.dataPlane.call("ownKeys", {
    do: "list",
    owner,
  });

  const results = answers.map(({ result }) => result).toSorted();
  assert.equal(results.filter((each) => each === "changed").length, 3);
  assert(results.every((each) => each !== "rejected"), results.join());
  assert(list.result === "found");
  assert.equal(list.keys.length, 3);
});
