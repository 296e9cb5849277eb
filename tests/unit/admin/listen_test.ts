import assert from "node:assert/strict";
import { listen, ListenError } from "../../../admin/listen.ts";
import type { Handler } from "../../../admin/http/router.ts";
import { parseAddress } from "../../../src/api/schema/address.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { createTestLog } from "./fake_target.ts";

async function listenOn(
  text: string,
  handler: Handler = () => new Response("here"),
) {
  const address = parseAddress(text);
  assert(address !== undefined);
  return await listen({
    name: `test "${text}"`,
    address,
    handler,
    clock: systemClock,
    log: createTestLog().log,
  });
}

async function withFolder(
  run: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("listen opens localhost on both address families with one port", async () => {
  const server = await listenOn("localhost:0");

  const ports = new Set(
    server.addresses.map((address) => new URL(address).port),
  );
  const bodies = await Promise.all(
    server.addresses.map(async (address) => (await fetch(address)).text()),
  );
  await server.close();

  assert.equal(ports.size, 1);
  assert.equal(bodies.length, server.addresses.length);
  assert(bodies.every((body) => body === "here"));
});

Deno.test("listen opens nothing for off", async () => {
  const server = await listenOn("off");

  assert.deepEqual(server.addresses, []);
  await server.close();
});

Deno.test("listen reports an address in use and leaves nothing open", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;

  await assert.rejects(listenOn(`localhost:${port}`), {
    name: "ListenError",
    message:
      `Cannot listen on test "localhost:${port}": the port is in use by another process`,
  });
});

Deno.test("listen reports an address of another machine", async () => {
  await assert.rejects(listenOn("192.0.2.1:0"), {
    name: "ListenError",
    message:
      'Cannot listen on test "192.0.2.1:0": this machine does not have the address',
  });
});

Deno.test("listen creates a private socket and removes it on close", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/admin.sock`;

    const server = await listenOn(`unix:${path}`);
    const { mode, isSocket } = await Deno.lstat(path);
    await server.close();

    assert.deepEqual(server.addresses, [`unix:${path}`]);
    assert.equal(isSocket, true);
    assert.equal((mode ?? 0) & 0o777, 0o600);
    await assert.rejects(Deno.lstat(path), Deno.errors.NotFound);
  });
});

Deno.test("listen restores the umask", async () => {
  await withFolder(async (folder) => {
    const before = Deno.umask();

    const server = await listenOn(`unix:${folder}/admin.sock`);
    await server.close();

    assert.equal(Deno.umask(), before);
  });
});

Deno.test("listen replaces a stale socket", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/admin.sock`;
    await leaveStaleSocket(path);

    const server = await listenOn(`unix:${path}`);
    using client = Deno.createHttpClient({
      proxy: { transport: "unix", path },
    });
    const body = await (await fetch("http://localhost/", { client })).text();
    await server.close();

    assert.equal(body, "here");
  });
});

Deno.test("listen does not replace a socket in use", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/admin.sock`;
    using _other = Deno.listen({ transport: "unix", path });

    await assert.rejects(listenOn(`unix:${path}`), {
      name: "ListenError",
      message:
        `Cannot listen on test "unix:${path}": another process is listening`,
    });
  });
});

Deno.test("listen keeps the socket of a successor while a request delays its close", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/admin.sock`;
    const held = Promise.withResolvers<Response>();
    const arrived = Promise.withResolvers<void>();
    const first = await listenOn(`unix:${path}`, () => {
      arrived.resolve();
      return held.promise;
    });
    using client = Deno.createHttpClient({
      proxy: { transport: "unix", path },
    });
    const answer = fetch("http://localhost/", { client });
    await arrived.promise;

    const closed = first.close();
    await removed(path);
    const second = await listenOn(`unix:${path}`);
    held.resolve(new Response("late"));
    await closed;

    assert.equal(await (await answer).text(), "late");
    assert.equal((await Deno.lstat(path)).isSocket, true);
    await second.close();
  });
});

const obstacles = [
  {
    name: "a file",
    make: (path: string) => Deno.writeTextFile(path, "precious"),
  },
  { name: "a directory", make: (path: string) => Deno.mkdir(path) },
  { name: "a link", make: (path: string) => Deno.symlink("/dev/null", path) },
];

for (const { name, make } of obstacles) {
  Deno.test(`listen does not replace ${name} by a socket`, async () => {
    await withFolder(async (folder) => {
      const path = `${folder}/admin.sock`;
      await make(path);
      const before = await Deno.lstat(path);

      await assert.rejects(listenOn(`unix:${path}`), {
        name: "ListenError",
        message:
          `Cannot listen on test "unix:${path}": the path exists and is not a socket`,
      });
      assert.equal((await Deno.lstat(path)).ino, before.ino);
    });
  });
}

Deno.test("listen reports a missing directory", async () => {
  await assert.rejects(
    listenOn("unix:/nonexistent/admin.sock"),
    (error: unknown) =>
      error instanceof ListenError &&
      error.message ===
        'Cannot listen on test "unix:/nonexistent/admin.sock": the directory does not exist',
  );
});

async function removed(path: string): Promise<void> {
  const folder = path.slice(0, path.lastIndexOf("/"));
  while ((await Array.fromAsync(Deno.readDir(folder))).length > 0);
}

/** Creates a stale socket: the file outlives its listener because it has a second name. */
async function leaveStaleSocket(path: string): Promise<void> {
  using _listener = Deno.listen({ transport: "unix", path: `${path}.new` });
  await Deno.rename(`${path}.new`, path);
}
