/** Lists that are at hand for an hour change as soon as their server says so, for the clients of all workers. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { startChangingServer } from "../../../harness/mcp/changing_server.ts";
import { callModern, listTools } from "../../../harness/mcp/modern_call.ts";
import { stdioServer } from "../../../harness/mcp/stdio_processes.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import {
  announcements,
  keys,
  listEverywhere,
  listOfUsers,
  startGateway,
} from "./changed_lists_client.ts";

/** Announcements of a flood, and the time that it takes. */
const ROUNDS = 100;
const FLOOD_MS = 10_000;
const lists = ["tools/list", "prompts/list", "resources/list"] as const;

for (const workers of [1, 2]) {
  Deno.test(`a client that lists after an announcement gets what is new, ${workers} worker(s)`, async () => {
    await using server = startChangingServer();
    await using gateway = await startGateway({ url: server.url }, {
      workers,
    });
    for (const list of lists) await listEverywhere(gateway, list);
    const announced = announcements(gateway);
    const first = announced.next();
    await server.listened;

    server.change(["two"]);

    const changed = new Set([(await first).value]);
    while (changed.size < lists.length) {
      changed.add((await announced.next()).value);
    }
    const seen = [];
    for (const list of lists) {
      seen.push([...await listEverywhere(gateway, list)]);
    }
    assert.deepEqual(seen, [["two"], ["two"], ["two"]]);
    await announced.return();
  });
}

for (const kind of ["url", "stdio"] as const) {
  Deno.test(`a client that does not listen gets what its own call has added to a server (${kind})`, async () => {
    await using server = startChangingServer({ era: "legacy" });
    await using gateway = await startGateway(
      kind === "url"
        ? { url: server.url }
        : { stdio: stdioServer({ share: "All" }) },
      { workers: 1 },
    );
    const [before = ""] = await listEverywhere(gateway, "tools/list");

    await callModern(`${gateway.origin}/mcp`, "tools/call", {
      name: "grow",
      arguments: {},
    });

    const [after = ""] = await listEverywhere(gateway, "tools/list");
    assert.equal(before.includes("grown"), false);
    assert.equal(after.includes("grown"), true, after);
  });
}

Deno.test("after an outage, the last announcement means that all workers have the server's new tools", async () => {
  await using alive = startChangingServer({ names: ["alive"] });
  const before = startChangingServer();
  await using gateway = await startGateway({ url: before.url }, {
    more: [{ name: "b", url: alive.url }],
  });
  const all = await listEverywhere(gateway, "tools/list");
  const announced = announcements(gateway);
  let next = announced.next();
  await before.listened;
  await before[Symbol.asyncDispose]();
  await next;
  while ([...await listEverywhere(gateway, "tools/list")].join() !== "b_alive");

  next = announced.next();
  await using _ = startChangingServer({ port: before.port, names: ["two"] });

  let seen: readonly string[] = [];
  while (seen.join() !== "a_two,b_alive") {
    await next;
    next = announced.next();
    seen = [...await listEverywhere(gateway, "tools/list")];
  }
  assert.deepEqual([...all], ["a_one,b_alive"]);
  await announced.return();
});

Deno.test("two users whose rules differ never get each other's tools, also after a change", async () => {
  await using server = startChangingServer({ names: ["ada_1", "bob_1"] });
  const rule = "!has(mcp.tool) || mcp.tool.name.startsWith(apiKey.name)";
  await using gateway = await startGateway({ url: server.url }, {
    policies: {
      apiKeyAuthentication: { keys },
      authorization: { policy: { matchExpressions: [rule] } },
    },
  });
  const before = await listOfUsers(gateway);

  const announced = announcements(gateway, "ada");
  const first = announced.next();
  await server.listened;
  server.change(["ada_2", "bob_2"]);
  await first;

  assert.deepEqual(before, [["ada_1"], ["bob_1"]]);
  assert.deepEqual(await listOfUsers(gateway), [["ada_2"], ["bob_2"]]);
  await announced.return();
});

Deno.test("a list that a server has made for one user is nobody else's", async () => {
  await using server = startChangingServer({ isPrivate: true });
  await using gateway = await startGateway({ url: server.url }, {
    policies: { apiKeyAuthentication: { keys } },
  });

  const [ada = [], bob = []] = await listOfUsers(gateway);

  assert.notEqual(ada.length, 0);
  assert.equal(ada.some((each) => bob.includes(each)), false, `${ada} ${bob}`);
});

Deno.test("when a revocation has been made, no worker lists the tool, and clients hear of it", async () => {
  await using server = startChangingServer({ names: ["read", "send"] });
  await using gateway = await startGateway({ url: server.url }, {
    lock: { trust: "FirstUse" },
  });
  const before = await listEverywhere(gateway, "tools/list");
  const announced = announcements(gateway);
  let next = announced.next();
  await server.listened;
  const change = (path: string, tools: unknown) =>
    fetch(`${gateway.admin}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        backend: "default/tools/backend0",
        server: "a",
        tools,
      }),
    });

  const revoked = await change("/mcp/tools/revoke", ["send"]);
  const after = await listEverywhere(gateway, "tools/list");
  await next;
  next = announced.next();
  const { servers: [{ tools }] } = await (await fetch(
    `${gateway.admin}/mcp/tools`,
  )).json();
  const held = tools.filter(({ name }: { name: string }) => name === "send");
  const approved = await change(
    "/mcp/tools",
    held.map(({ name, digest }: { name: string; digest: string }) => ({
      name,
      digest,
    })),
  );
  const again = await listEverywhere(gateway, "tools/list");

  assert.deepEqual([revoked.status, approved.status], [200, 200]);
  assert.deepEqual([before, after, again].map((each) => [...each]), [
    ["read,send"],
    ["read"],
    ["read,send"],
  ]);
  await announced.return();
  await revoked.body?.cancel();
  await approved.body?.cancel();
});

Deno.test("what a server changes while its stream is broken is announced once the stream is open again", async () => {
  const clock = new FakeClock();
  await using server = startChangingServer();
  const { url: at } = server;
  await using gateway = await startTestGateway(
    {
      routes: [{ backends: [{ mcp: { servers: [{ name: "a", url: at }] } }] }],
    },
    ...[{}, [], { clock }] as const,
  );
  const url = `${gateway.origin}/mcp`;
  const before = await listTools(url);
  const announced = announcements(gateway);
  let isTold = false;
  const first = announced.next().then(() => isTold = true);
  await server.listened;
  clock.advance(2000);
  server.changeUnseen(["two"]);

  while (!isTold) {
    clock.advance(100);
    await listTools(url);
  }

  await first;
  assert.deepEqual(before, ["one"]);
  assert.deepEqual(await listTools(url), ["two"]);
  await announced.return();
});

Deno.test("a server that announces changes without end reaches its clients about once a second", async () => {
  const clock = new FakeClock();
  await using server = startChangingServer();
  await using gateway = await startEndpoint(server.url, clock);
  const url = `${gateway.origin}/mcp`;
  let told = 0;
  const announced = announcements(gateway);
  const following = (async () => {
    for await (const method of announced) {
      if (method.includes("tools")) told++;
    }
  })();
  await server.listened;

  for (let round = 0; round < ROUNDS; round++) {
    server.change([`tool${round}`]);
    await listTools(url);
    clock.advance(FLOOD_MS / ROUNDS);
  }

  const listed = await listTools(url);
  assert.deepEqual(listed, [`tool${ROUNDS - 1}`]);
  assert.ok(told > 1 && told < 2 * FLOOD_MS / 1000, `${told}`);
  await gateway[Symbol.asyncDispose]();
  await Promise.allSettled([following]);
});

function startEndpoint(url: string, clock: FakeClock) {
  const mcp = { servers: [{ name: "a", url }] };
  return startTestGateway({ routes: [{ backends: [{ mcp }] }] }, {}, [], {
    clock,
  });
}
