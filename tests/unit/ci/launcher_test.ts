import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { runEnvironment } from "../../../.ci/pack.ts";
import config from "../../../deno.json" with { type: "json" };
import {
  entriesOf,
  largeRuntime,
  pathOf,
  PROBE,
  type Report,
  Sandbox,
  unprivilegedUser,
} from "../../harness/process/packed_probe.ts";

Deno.test("launcher starts with an empty environment in a read-only directory", async () => {
  using sandbox = await Sandbox.create();
  const cwd = sandbox.directory("read-only", 0o500);
  const temporary = sandbox.directory("tmp", 0o777);

  const start = await sandbox.run({ cwd, env: { TMPDIR: temporary } });

  const { env } = start.report();
  assert.equal(start.stderr, "");
  assert(
    env["DENO_DIR"]?.startsWith(
      `${temporary}/gateway-${unprivilegedUser.uid ?? Deno.uid()}/`,
    ),
  );
  assert.deepEqual(await Array.fromAsync(Deno.readDir(cwd)), []);
});

Deno.test("launcher uses the first cache directory that is set", async () => {
  using sandbox = await Sandbox.create();
  const all = {
    GATEWAY_CACHE_DIR: "own",
    XDG_CACHE_HOME: "xdg",
    HOME: "home",
    TMPDIR: "tmp",
  };
  const wanted = {
    GATEWAY_CACHE_DIR: "own/",
    XDG_CACHE_HOME: "xdg/gateway/",
    HOME: "home/.cache/gateway/",
    TMPDIR: "tmp/gateway-",
  };
  const env = Object.fromEntries(
    Object.entries(all).map(([name, path]) => [name, sandbox.directory(path)]),
  );

  for (const [name, path] of Object.entries(wanted)) {
    const report = (await sandbox.run({ env })).report();

    assert(
      report.env["DENO_DIR"]?.startsWith(`${sandbox.path}/${path}`),
      `${name}: ${report.env["DENO_DIR"]}`,
    );
    delete env[name];
  }
});

Deno.test("launcher passes arguments and the process id on as they are", async () => {
  using sandbox = await Sandbox.create();
  const args = [
    "report",
    "--help",
    "-A",
    "--",
    "two words",
    "",
    "*",
    "$HOME",
    "new\nline",
  ];

  const child = sandbox.spawn({
    args,
    env: { GATEWAY_CACHE_DIR: sandbox.directory("cache") },
  });
  const report = JSON.parse(
    new TextDecoder().decode((await child.output()).stdout),
  ) as Report;

  assert.deepEqual(report.args, args);
  assert.equal(report.pid, child.pid);
});

Deno.test("launcher passes the exit code on", async () => {
  using sandbox = await Sandbox.create();

  const { code } = await sandbox.run({
    args: ["exit", "42"],
    env: { GATEWAY_CACHE_DIR: sandbox.directory("cache") },
  });

  assert.equal(code, 42);
});

Deno.test("launcher passes signals on", async () => {
  using sandbox = await Sandbox.create();
  await using child = sandbox.spawn({
    args: ["wait"],
    env: { GATEWAY_CACHE_DIR: sandbox.directory("cache") },
  });
  const output = child.stdout.getReader();
  await output.read();

  child.kill("SIGTERM");

  assert.equal((await child.status).signal, "SIGTERM");
  await output.cancel();
  await child.stderr.cancel();
});

Deno.test("launcher says by which name it was called", async () => {
  using sandbox = await Sandbox.create();
  const file = `${sandbox.path}/gwctl`;
  await Deno.symlink("gateway", file);

  const { env } = (await sandbox.run({
    file,
    env: { GATEWAY_CACHE_DIR: sandbox.directory("cache") },
  })).report();

  assert.equal(env["GATEWAY_ARGV0"], file);
});

Deno.test("launcher grants no more than the gateway needs", async () => {
  using sandbox = await Sandbox.create();

  const { permissions } = (await sandbox.run({
    env: { GATEWAY_CACHE_DIR: sandbox.directory("cache") },
  })).report();

  // gwctl starts programs that a kubeconfig names; a gateway that serves drops this first.
  assert.deepEqual(permissions, { net: true, ffi: false, sh: true });
});

Deno.test("launcher drops settings of the Deno and Node tools, but keeps trust and tokens", async () => {
  using sandbox = await Sandbox.create();
  const dropped = {
    DENO_V8_FLAGS: "--no-such-flag",
    DENO_SERVE_ADDRESS: "tcp:0.0.0.0:1",
    DENO_COVERAGE_DIR: `${sandbox.path}/coverage`,
    NODE_OPTIONS: "--no-such-option",
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
  };
  const kept = {
    DENO_TLS_CA_STORE: "system",
    DENO_KV_ACCESS_TOKEN: "token",
    MULTI: "a\nexport DENO_TLS_CA_STORE=b",
  };

  const env = {
    ...dropped,
    ...kept,
    GATEWAY_CACHE_DIR: sandbox.directory("cache"),
  };
  const report = (await sandbox.run({ env })).report();

  for (const name of Object.keys(dropped)) {
    assert.equal(report.env[name], undefined, name);
  }
  for (const [name, value] of Object.entries(kept)) {
    assert.equal(report.env[name], value);
  }
});

Deno.test("launcher configures the allocator, but keeps the settings of users", async () => {
  using sandbox = await Sandbox.create();
  const [[name, byDefault] = [], ...others] = Object.entries(runEnvironment);
  const GATEWAY_CACHE_DIR = sandbox.directory("cache");

  const plain = await sandbox.run({ env: { GATEWAY_CACHE_DIR } });
  const env = { GATEWAY_CACHE_DIR, [name ?? ""]: "" };
  const configured = await sandbox.run({ env });

  assert.equal(plain.report().env[name ?? ""], byDefault);
  assert.equal(configured.report().env[name ?? ""], "");
  for (const [other, value] of others) {
    assert.equal(configured.report().env[other], value);
  }
});

Deno.test("launcher unpacks once when started eight times at once", async () => {
  using sandbox = await Sandbox.create(PROBE, largeRuntime());
  const cache = sandbox.directory("cache");

  const starts = Array.from(
    { length: 8 },
    () => sandbox.run({ env: { GATEWAY_CACHE_DIR: cache } }),
  );

  for (const start of await Promise.all(starts)) start.report();
  assert.deepEqual(entriesOf(cache).map((name) => name.replace(/.*\//, "")), [
    "gateway",
    "main.js",
    "worker.js",
  ]);
});

Deno.test("launcher has a process of its own analyze the program when it unpacks it", async () => {
  using sandbox = await Sandbox.create(`
    const file = Deno.env.get("GATEWAY_CACHE_DIR") + "/runs";
    Deno.writeTextFileSync(file, Deno.args[0] + "\\n", { append: true });
  `);
  const cache = sandbox.directory("cache");

  for (const name of ["first", "second"]) {
    await sandbox.run({ args: [name], env: { GATEWAY_CACHE_DIR: cache } });
  }

  const runs = await Deno.readTextFile(`${cache}/runs`);
  assert.equal(runs, "validate\nfirst\nsecond\n");
});

for (const file of ["gateway", "main.js", "worker.js"]) {
  Deno.test(`launcher unpacks ${file} again when it is cut short`, async () => {
    using sandbox = await Sandbox.create();
    const cache = sandbox.directory("cache");
    (await sandbox.run({ env: { GATEWAY_CACHE_DIR: cache } })).report();
    const path = pathOf(cache, file);
    const { size } = await Deno.stat(path);

    await Deno.truncate(path, Math.min(size - 1, 1000));
    (await sandbox.run({ env: { GATEWAY_CACHE_DIR: cache } })).report();

    assert.equal((await Deno.stat(path)).size, size);
  });
}

Deno.test("launcher keeps two builds apart and shares their runtime", async () => {
  using one = await Sandbox.create(`console.log('{"args":["one"]}')`);
  using two = await Sandbox.create(`console.log('{"args":["two"]}')`);
  const env = { GATEWAY_CACHE_DIR: one.directory("cache") };

  const reports = [];
  for (const sandbox of [one, two, one]) {
    reports.push((await sandbox.run({ env })).report().args[0]);
  }

  assert.deepEqual(reports, ["one", "two", "one"]);
  assert.equal(
    entriesOf(env.GATEWAY_CACHE_DIR).filter((name) => name.endsWith("/gateway"))
      .length,
    1,
  );
});

Deno.test("launcher starts from a filled cache that it cannot write to", async () => {
  using sandbox = await Sandbox.create();
  const cache = sandbox.directory("cache");
  (await sandbox.run({ env: { GATEWAY_CACHE_DIR: cache } })).report();
  const directories = [
    cache,
    ...await Array.fromAsync(
      Deno.readDir(cache),
      ({ name }) => `${cache}/${name}`,
    ),
  ];
  for (const path of directories) await Deno.chmod(path, 0o500);

  const { env } = (await sandbox.run({ env: { GATEWAY_CACHE_DIR: cache } }))
    .report();

  assert(env["DENO_DIR"]?.startsWith(cache));
  for (const path of directories) await Deno.chmod(path, 0o700);
});

const unsafe: { name: string; plant: (sandbox: Sandbox) => string }[] = [
  {
    name: "that others may write to",
    plant: (sandbox) => sandbox.directory("unsafe", 0o777),
  },
  {
    name: "that the group may write to",
    plant: (sandbox) => sandbox.directory("unsafe", 0o770),
  },
  {
    name: "that is a link",
    plant(sandbox) {
      Deno.symlinkSync(
        sandbox.directory("elsewhere"),
        `${sandbox.path}/unsafe`,
      );
      return `${sandbox.path}/unsafe`;
    },
  },
  { name: "of another user", plant: () => "/usr" },
];

for (const { name, plant } of unsafe) {
  Deno.test(`launcher passes over a cache directory ${name}`, async () => {
    using sandbox = await Sandbox.create();
    const home = sandbox.directory("home");

    const { env: { DENO_DIR = "" } } = (await sandbox.run({
      env: { GATEWAY_CACHE_DIR: plant(sandbox), HOME: home },
    })).report();

    assert(DENO_DIR.startsWith(home), DENO_DIR);
  });
}

const planted: {
  name: string;
  file: string;
  plant: (path: string) => void;
}[] = [
  {
    name: "that others may write to",
    file: "gateway",
    plant: (path) => Deno.chmodSync(path, 0o777),
  },
  {
    name: "that is a link",
    file: "main.js",
    plant(path) {
      Deno.renameSync(path, `${path}.elsewhere`);
      Deno.symlinkSync(`${path}.elsewhere`, path);
    },
  },
  {
    name: "in a directory that the group may write to",
    file: "main.js",
    plant: (path) => Deno.chmodSync(path.replace(/[^/]*$/, ""), 0o770),
  },
  ...(unprivilegedUser.uid === undefined ? [] : [{
    name: "of another user",
    file: "main.js",
    plant: (path: string) => Deno.chownSync(path, 0, 0),
  }]),
];

for (const { name, file, plant } of planted) {
  Deno.test(`launcher replaces a cached ${file} ${name}`, async () => {
    using sandbox = await Sandbox.create();
    const env = { GATEWAY_CACHE_DIR: sandbox.directory("cache") };
    (await sandbox.run({ env })).report();
    const path = pathOf(env.GATEWAY_CACHE_DIR, file);
    plant(path);

    (await sandbox.run({ env })).report();

    const { mode, uid } = await Deno.lstat(path);
    assert.equal((mode ?? 0) & 0o777, 0o700);
    assert.equal(uid, unprivilegedUser.uid ?? Deno.uid());
    const folder = await Deno.lstat(path.replace(/[^/]*$/, ""));
    assert.equal((folder.mode ?? 0) & 0o777, 0o700);
  });
}

Deno.test("launcher deletes what nobody has started for a month when it unpacks something", async () => {
  using sandbox = await Sandbox.create();
  using next = await Sandbox.create(`console.log('{"args":["next"]}')`);
  const cache = sandbox.directory("cache");
  const env = { GATEWAY_CACHE_DIR: cache };
  (await sandbox.run({ env })).report();
  const longAgo = Date.now() / 1000 - 40 * 24 * 60 * 60;
  const old = (entry: string, file: string) => {
    const folder = sandbox.directory(`cache/${entry}`);
    Deno.writeTextFileSync(`${folder}/${file}`, "");
    Deno.utimeSync(`${folder}/${file}`, longAgo, longAgo);
    return `${entry}/${file}`;
  };
  old("gateway-0.0.9-0123", "main.js");
  old("deno-2.0.0-0123", "gateway");
  const foreign = old("notes", "main.js");
  await Deno.utime(pathOf(cache, "main.js"), longAgo, longAgo);
  const own = entriesOf(cache).filter((name) => !name.includes("0123"));

  // A start is a use.
  (await sandbox.run({ env })).report();
  (await next.run({ env })).report();

  const kept = entriesOf(cache);
  assert.deepEqual(kept.filter((name) => name.includes("0123")), []);
  assert.deepEqual(own.filter((name) => !kept.includes(name)), []);
  assert(kept.includes(foreign));
});

for (const shell of ["dash", "bash", "busybox"]) {
  const path = `/bin/${shell}`;
  Deno.test({
    name: `launcher starts under ${shell}`,
    ignore: !existsSync(path),
  }, async () => {
    using sandbox = await Sandbox.create();
    const env = {
      GATEWAY_CACHE_DIR: `${sandbox.directory("two wörds")}/*`,
      PATH: "/usr/bin:/bin",
    };

    for (const args of [["cold"], ["warm", "two words"]]) {
      const start = await sandbox.run({
        file: path,
        args: [
          ...(shell === "busybox" ? ["sh"] : []),
          sandbox.executable,
          ...args,
        ],
        env,
      });

      assert.deepEqual(start.report().args, args);
      assert.equal(start.stderr, "");
    }
  });
}

Deno.test("launcher is found on the PATH, through a link, in a directory whose name is not plain", async () => {
  using sandbox = await Sandbox.create();
  const programs = sandbox.directory("two wörds");
  await Deno.rename(sandbox.executable, `${programs}/gateway`);
  await Deno.symlink("gateway", `${programs}/gwctl`);

  const start = await sandbox.run({
    file: "/bin/sh",
    args: ["-c", "exec gwctl a"],
    env: {
      PATH: `${programs}:/usr/bin:/bin`,
      GATEWAY_CACHE_DIR: sandbox.directory("cache"),
    },
  });

  assert.deepEqual(start.report().args, ["a"]);
  assert.match(start.report().env["GATEWAY_ARGV0"] ?? "", /\/gwctl$/);
});

Deno.test("launcher names every directory it tried when none will do", async () => {
  using sandbox = await Sandbox.create();
  const own = sandbox.directory("own", 0o777);
  const env = {
    GATEWAY_CACHE_DIR: own,
    HOME: sandbox.directory("home", 0o500),
    TMPDIR: "/nonexistent",
  };

  const { code, stderr } = await sandbox.run({ env });

  assert.equal(code, 1);
  assert(
    stderr.startsWith('Cannot unpack the gateway, set "GATEWAY_CACHE_DIR"'),
    stderr,
  );
  assert(
    stderr.includes(`${own}: not a directory that only this user can change`),
    stderr,
  );
  assert(
    stderr.includes(`${env.HOME}/.cache/gateway: cannot be created`),
    stderr,
  );
  assert(stderr.includes("/nonexistent/gateway-"), stderr);
});

Deno.test("launcher names a program that it needs and cannot find", async () => {
  using sandbox = await Sandbox.create();
  const programs = sandbox.directory("bin");
  for (const name of ["wc", "ls", "id", "mkdir", "mktemp", "dd", "head"]) {
    await Deno.symlink(`/usr/bin/${name}`, `${programs}/${name}`);
  }

  const { code, stderr } = await sandbox.run({ env: { PATH: programs } });

  assert.equal(code, 1);
  assert.equal(
    stderr,
    'Cannot find "gzip" on the PATH, which unpacks the gateway: install coreutils and gzip\n',
  );
});

Deno.test("launcher reports why when the unpacked runtime does not start", async () => {
  using sandbox = await Sandbox.create(
    PROBE,
    new TextEncoder().encode("#!/nonexistent\n"),
  );
  const cache = sandbox.directory("cache");

  const { code, stderr } = await sandbox.run({
    env: { GATEWAY_CACHE_DIR: cache, TMPDIR: "/nonexistent" },
  });

  assert.equal(code, 1);
  assert.match(stderr, /cache: .*gateway/);
  assert.deepEqual(entriesOf(cache), []);
});

Deno.test("launcher does not start from a file that was cut short", async () => {
  using sandbox = await Sandbox.create();
  const cache = sandbox.directory("cache");
  // Within the runtime, which begins with the third block.
  await Deno.truncate(sandbox.executable, 2 * 64 * 1024 + 20);

  const { code, stderr } = await sandbox.run({
    env: { GATEWAY_CACHE_DIR: cache, TMPDIR: "/nonexistent" },
  });

  assert.equal(code, 1);
  assert(stderr.includes("this file is incomplete"), stderr);
  assert.deepEqual(entriesOf(cache), []);
});

for (
  const { args, text } of [
    { args: ["--help"], text: "it's gateway\n" },
    { args: ["version"], text: `gateway ${config.version}\n` },
  ]
) {
  Deno.test(`launcher answers ${args[0]} without unpacking anything`, async () => {
    using sandbox = await Sandbox.create();
    const cache = sandbox.directory("cache");
    const started = sandbox.spawn({ args, env: { GATEWAY_CACHE_DIR: cache } });

    const { code, stdout } = await started.output();

    assert.equal(code, 0);
    assert.equal(new TextDecoder().decode(stdout), text);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(cache)), []);
  });
}
