import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  goTop,
  holdCpuProfile,
  type HotFunction,
  hotFunctions,
  valueTypes,
} from "../../harness/parsers/pprof.ts";
import { RawClient } from "../../harness/clients/raw_client.ts";

/** Paths full of escapes take processor time in `normalizeTarget`; the route of users takes memory, a budget for each. */
const config = {
  config: { accessLog: { enabled: false } },
  routes: [
    {
      name: "escapes",
      matches: [{ path: { type: "PathPrefix", value: "/aaa" } }],
      policies: { directResponse: { status: 204 } },
    },
    {
      name: "memory",
      matches: [{ path: { type: "PathPrefix", value: "/users" } }],
      policies: {
        directResponse: { status: 204 },
        rateLimit: {
          local: [{
            requests: 1000,
            unit: "Hours",
            key: 'request.headers["x-user"]',
          }],
        },
      },
    },
  ],
};

/** Keeps `normalizeTarget` busy until it is disposed: clients always have requests waiting. */
async function burn(port: number): Promise<AsyncDisposable> {
  let isOver = false;
  const batch = 32;
  const request = `GET /aaa/${"%61".repeat(2600)} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const isBusy = Promise.withResolvers<void>();
  const work = async () => {
    using client = await RawClient.connect(port);
    while (!isOver) {
      const sending = client.send(request.repeat(batch));
      for (let at = 0; at < batch; at++) {
        await client.receive();
        isBusy.resolve();
      }
      await sending;
    }
  };
  const done = Promise.all([work(), work()]);
  await isBusy.promise;
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      await done;
    },
  };
}

async function useManyKeys(port: number, count: number): Promise<void> {
  using client = await RawClient.connect(port);
  const batch = 500;
  for (let first = 0; first < count; first += batch) {
    const requests = Array.from(
      { length: batch },
      (_, at) =>
        `GET /users HTTP/1.1\r\nHost: x\r\nX-User: ${
          String(first + at).padStart(120, "u")
        }\r\n\r\n`,
    );
    const sending = client.send(requests.join(""));
    for (let at = 0; at < batch; at++) {
      const answer = await client.receive();
      assert.equal(answer?.status, 204);
    }
    await sending;
  }
}

async function download(url: string): Promise<Uint8Array> {
  const response = await fetch(url);
  assert.equal(response.status, 200);
  assert.equal(
    response.headers.get("content-type"),
    "application/octet-stream",
  );
  return await response.bytes();
}

/** Downloads while `burn` runs. It ends then: on a clean machine, Go first compiles what reads the profile, for minutes. */
async function downloadUnderLoad(
  gateway: GatewayProcess,
  path: string,
): Promise<Uint8Array> {
  await using _load = await burn(gateway.port);
  return await download(`${gateway.admin}${path}`);
}

/** Lines of the source on which the function may be. */
async function sourceOf({ file, name }: HotFunction): Promise<number[]> {
  const text = await Deno.readTextFile(
    new URL(`../../../${file}`, import.meta.url),
  );
  return text.split("\n").flatMap((line, at) =>
    line.includes(`function ${name}(`) ? [at + 1] : []
  );
}

async function assertGoReads(
  bytes: Uint8Array,
  expected: RegExp,
): Promise<void> {
  const file = await Deno.makeTempFile({ suffix: ".pb.gz" });
  try {
    await Deno.writeFile(file, bytes);
    const top = await goTop(file);
    if (top === undefined) return;
    const first = top.split("\n").find((line) => line.includes(" src/"));
    assert.match(first ?? top, expected);
  } finally {
    await Deno.remove(file);
  }
}

Deno.test({
  name: "/debug/pprof/profile shows the function that is busy, with its source",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using gateway = await GatewayProcess.start({ config });
    const bytes = await downloadUnderLoad(
      gateway,
      "/debug/pprof/profile?seconds=2",
    );

    // Time outside the source is the runtime's, and waiting for a busy machine.
    const hottest = hotFunctions(bytes).find(({ file }) => file !== "");
    assert.ok(hottest !== undefined);
    assert.equal(hottest.file, "src/route/normalize_target.ts");
    assert.ok(
      (await sourceOf(hottest)).includes(hottest.startLine),
      JSON.stringify(hottest),
    );
    assert.ok(hottest.lines.every((line) => line >= hottest.startLine));
    assert.deepEqual(valueTypes(bytes), ["samples/count", "cpu/nanoseconds"]);
    assert.ok(
      !hotFunctions(bytes).some(({ name }) => name === "(idle)"),
    );
    await assertGoReads(bytes, /src\/route\/normalize_target\.ts$/);
  },
});

Deno.test("/debug/pprof/heap?seconds= counts allocations of freed memory, then memory in use again", async () => {
  await using gateway = await GatewayProcess.start({ config });
  const path = "/debug/pprof/heap";

  const allocations = await downloadUnderLoad(gateway, `${path}?seconds=2`);
  const inUse = await download(`${gateway.admin}${path}`);

  const sizeOf = (bytes: Uint8Array) =>
    hotFunctions(bytes).reduce((sum, { value }) => sum + value, 0);
  assert.deepEqual(valueTypes(allocations), ["alloc_space/bytes"]);
  assert.deepEqual(valueTypes(inUse), ["inuse_space/bytes"]);
  assert.ok(sizeOf(allocations) > sizeOf(inUse));
  assert.ok(
    hotFunctions(allocations).some(({ file }) => file.startsWith("src/")),
  );
  await assertGoReads(allocations, /src\/\w+/);
});

Deno.test("/debug/pprof/heap shows what holds memory that was allocated before", async () => {
  await using gateway = await GatewayProcess.start({ config });
  await useManyKeys(gateway.port, 80_000);

  const bytes = await download(`${gateway.admin}/debug/pprof/heap`);

  const [largest] = hotFunctions(bytes);
  assert.match(
    largest?.file ?? "",
    /^src\/(?:ratelimit\/local|policy\/rate_limit)\//,
  );
  assert.deepEqual(valueTypes(bytes), ["inuse_space/bytes"]);
  await assertGoReads(
    bytes,
    /src\/(?:ratelimit\/local|policy\/rate_limit)\/\w+\.ts$/,
  );
});

Deno.test({
  name: "profiles are taken one at a time, and end when the client leaves",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using gateway = await GatewayProcess.start({ config });
    const url = `${gateway.admin}/debug/pprof/profile`;
    let second: Response;
    {
      await using _first = await holdCpuProfile(gateway.admin);
      second = await fetch(`${url}?seconds=1`);
      await second.bytes();
    }
    let third: Response;
    do {
      third = await fetch(`${url}?seconds=1`);
      await third.bytes();
    } while (third.status === 409);

    assert.equal(second.status, 409);
    assert.equal(third.status, 200);
  },
});

Deno.test("gwctl proxy profile writes both profiles to files named after the time", async () => {
  await using gateway = await GatewayProcess.start({ config });
  // A heap that hardly grew since the start may hold nothing that was sampled.
  await useManyKeys(gateway.port, 80_000);
  await using _load = await burn(gateway.port);
  const cwd = await Deno.makeTempDir();
  const { port } = new URL(gateway.admin);
  try {
    for (const kind of ["cpu", "heap"]) {
      const { code, stdout, stderr } = await gatewayCommand({
        args: [
          "proxy",
          "profile",
          kind,
          "--local",
          "-p",
          port,
          ...(kind === "cpu" ? ["--seconds", "1"] : []),
        ],
        asGwctl: true,
        cwd,
      }).output();
      assert.equal(code, 0, new TextDecoder().decode(stderr));
      const text = new TextDecoder().decode(stdout);
      const [, file = ""] = new RegExp(
        `^Wrote ${kind} profile to (gateway-${kind}-[0-9]{8}-[0-9]{6}\\.pb\\.gz)\n$`,
      ).exec(text) ?? [];
      assert.ok(
        hotFunctions(await Deno.readFile(`${cwd}/${file}`)).length > 0,
        text,
      );
    }
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});
