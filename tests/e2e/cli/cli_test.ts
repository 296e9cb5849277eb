import assert from "node:assert/strict";
import {
  type GatewayCommand,
  gatewayCommand,
} from "../../harness/process/executable.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startCommand } from "../../harness/process/running_command.ts";

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function gateway(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  return finish({ args, env });
}

async function finish(command: GatewayCommand): Promise<Finished> {
  const { code, stdout, stderr } = await gatewayCommand(command).output();
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}

async function withFile<T>(
  text: string,
  run: (file: string) => Promise<T>,
): Promise<T> {
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  try {
    await Deno.writeTextFile(file, text);
    return await run(file);
  } finally {
    await Deno.remove(file);
  }
}

function configuration(port: number, adminPort: number): string {
  return JSON.stringify({
    config: { adminAddr: `127.0.0.1:${adminPort}`, statsAddr: "off" },
    gateways: { default: { port, address: "127.0.0.1" } },
    routes: [{ name: "all", backends: [{ host: "127.0.0.1:9" }] }],
  });
}

const nothing = /^$/;
const rows: readonly {
  readonly args: readonly string[];
  readonly code: number;
  readonly stdout: RegExp;
  readonly stderr: RegExp;
}[] = [
  {
    args: ["version"],
    code: 0,
    stdout: /^gateway [0-9]+\.[0-9]+\.[0-9]+\n$/,
    stderr: nothing,
  },
  {
    args: ["version", "--json"],
    code: 0,
    stdout: /^\{\n {2}"version": "[0-9.]+",\n {2}"deno": /,
    stderr: nothing,
  },
  {
    args: ["schema"],
    code: 0,
    stdout: /^\{\n {2}"\$schema": "https:\/\/json-schema\.org/,
    stderr: nothing,
  },
  {
    args: ["schema", "--markdown"],
    code: 0,
    stdout: /^# Reference.*`config\.adminAddr` \| listen address/s,
    stderr: nothing,
  },
  {
    args: ["--help"],
    code: 0,
    stdout: /Examples:\n {2}gateway dev .*Exit codes: 0/s,
    stderr: nothing,
  },
  {
    args: ["ctl", "proxy", "log", "--help"],
    code: 0,
    stdout: /--set proxy=trace/,
    stderr: nothing,
  },
  {
    args: ["ctl", "proxy", "trace", "--help"],
    code: 0,
    stdout: /\[gateway\/<name>\] \[options\] \[-- <url> .*Exit codes: 0/s,
    stderr: nothing,
  },
  {
    args: ["complete", "--", "ctl", "proxy", "trace", "--f"],
    code: 0,
    stdout: /^--filter\t.*\n--follow\t.*\n--file\t/,
    stderr: nothing,
  },
  { args: [], code: 2, stdout: nothing, stderr: /^Usage: gateway -f FILE/ },
  {
    args: ["verison"],
    code: 2,
    stdout: nothing,
    stderr: /unknown command 'verison'\n\(Did you mean version\?\)/,
  },
  {
    args: ["--version"],
    code: 0,
    stdout: /^gateway [0-9]+\.[0-9]+\.[0-9]+\n$/,
    stderr: nothing,
  },
  {
    args: ["-V"],
    code: 0,
    stdout: /^gateway [0-9]+\.[0-9]+\.[0-9]+\n$/,
    stderr: nothing,
  },
  {
    args: ["--verison"],
    code: 2,
    stdout: nothing,
    stderr: /\(Did you mean --version\?\)/,
  },
  ...[["--workers", "2"], ["run", "--workers=2"]].map((args) => ({
    args,
    code: 2,
    stdout: nothing,
    stderr:
      /unknown option '--workers(?:=2)?'\n\(Set config\.workers in the configuration/,
  })),
  {
    args: ["help"],
    code: 0,
    stdout: /^Usage: gateway -f FILE/,
    stderr: nothing,
  },
  {
    args: ["help", "schema"],
    code: 0,
    stdout: /^Usage: gateway schema/,
    stderr: nothing,
  },
  {
    args: ["hlep"],
    code: 2,
    stdout: nothing,
    stderr: /\(Did you mean help\?\)/,
  },
  {
    args: ["my.yaml"],
    code: 2,
    stdout: nothing,
    stderr: /\(Did you mean gateway -f my\.yaml\?\)/,
  },
  {
    args: ["-f", "a.yaml", "-f", "b.yaml"],
    code: 2,
    stdout: nothing,
    stderr: /Expected this option once; to load several files, use a directory/,
  },
  {
    args: ["ctl", "proxy", "log", "--set", "nonsense=debug"],
    code: 2,
    stdout: nothing,
    stderr: /expected one of .*proxy, ratelimit, request, got "nonsense"/,
  },
  {
    args: ["complete", "--", "completion", ""],
    code: 0,
    stdout: /^bash\t\nzsh\t\nfish\t\n:4\n$/,
    stderr: nothing,
  },
  {
    args: ["complete", "--", "ctl", "proxy", "log", "--level", "d"],
    code: 0,
    stdout: /^debug\t\n:4\n$/,
    stderr: nothing,
  },
  {
    args: ["--validate-onyl"],
    code: 2,
    stdout: nothing,
    stderr:
      /unknown option '--validate-onyl'\n\(Did you mean --validate-only\?\)/,
  },
  {
    args: ["-f"],
    code: 2,
    stdout: nothing,
    stderr: /option '-f, --file <path>' argument missing/,
  },
  {
    args: ["version", "now"],
    code: 2,
    stdout: nothing,
    stderr: /too many arguments/,
  },
  { args: ["ctl"], code: 2, stdout: nothing, stderr: /^Usage: gateway ctl/ },
  {
    args: ["ctl", "limits", "-o", "json"],
    code: 2,
    stdout: nothing,
    stderr:
      /unknown command 'limits'\n\(Did you mean gateway ctl proxy limits\?\)\n\(see "gateway ctl --help"\)/,
  },
  {
    args: ["ctl", "explan"],
    code: 2,
    stdout: nothing,
    stderr: /unknown command 'explan'\n\(Did you mean explain\?\)/,
  },
  {
    args: ["ctl", "proxy", "lgo"],
    code: 2,
    stdout: nothing,
    stderr:
      /unknown command 'lgo'\n\(Did you mean log\?\)\n\(see "gateway ctl proxy --help"\)/,
  },
  {
    args: ["ctl", "--admin", "http://127.0.0.1:1/", "explain", "id"],
    code: 1,
    stdout: nothing,
    stderr: /^gateway: Cannot reach the admin interface at http:\/\/127/,
  },
  {
    args: ["ctl", "--admin", "unix:/nowhere.sock", "explain", "id"],
    code: 1,
    stdout: nothing,
    stderr: /^gateway: Cannot reach the admin interface at unix:\/nowhere/,
  },
  {
    args: ["dev", "--admin", "15000"],
    code: 2,
    stdout: nothing,
    stderr:
      /^gateway: Cannot use "--admin": expected "ip:port", .*, got "15000"\n$/,
  },
  {
    args: ["ctl", "proxy", "log", "-p", "x"],
    code: 2,
    stdout: nothing,
    stderr: /Expected a port from 1 to 65535/,
  },
  {
    args: ["ctl", "proxy", "log", "-p", "1", "--admin", "unix:/x"],
    code: 2,
    stdout: nothing,
    stderr: /cannot be used with/,
  },
  {
    args: ["ctl", "proxy", "log", "--admin", "nonsense"],
    code: 2,
    stdout: nothing,
    stderr:
      /^gateway: Invalid admin address: expected "host:port" or "unix:<path>", got "nonsense"\n$/,
  },
  {
    args: ["ctl", "proxy", "log", "--admin", "unix:/nonexistent.sock"],
    code: 1,
    stdout: nothing,
    stderr:
      /^gateway: Cannot reach the admin interface at unix:\/nonexistent\.sock: no such file or directory\n.*-p <port>/,
  },
  {
    args: ["ctl", "proxy", "config", "all", "-o", "xml"],
    code: 2,
    stdout: nothing,
    stderr: /Allowed choices are yaml, json/,
  },
  {
    args: ["ctl", "proxy", "config", "all", "--file", "/nonexistent.json"],
    code: 1,
    stdout: nothing,
    stderr: /^gateway: Cannot read "\/nonexistent\.json": no such file\n$/,
  },
  {
    args: ["ctl", "proxy", "config", "all", "--file", "x", "--local"],
    code: 2,
    stdout: nothing,
    stderr: /^gateway: "--file" cannot be used together with/,
  },
  {
    args: ["completion", "tcsh"],
    code: 2,
    stdout: nothing,
    stderr: /^gateway: .*expected bash, zsh, fish, got "tcsh"\n$/,
  },
  {
    args: ["completion"],
    code: 2,
    stdout: nothing,
    stderr: /^gateway: .*expected bash, zsh, fish, got no shell\n$/,
  },
  {
    args: ["complete", "--", "ctl", "accounts", ""],
    code: 0,
    stdout: /^list\t.*\nrevoke\t.*\n:4\n$/,
    stderr: nothing,
  },
  {
    args: ["complete", "--", "ctl", "mcp", ""],
    code: 0,
    stdout:
      /^servers\t.*\nlock\t.*\napprove\t.*\ndoctor\t.*\ntools\t.*\ncall\t.*\n:4\n$/,
    stderr: nothing,
  },
  {
    args: ["complete", "--", "ctl", "proxy", ""],
    code: 0,
    stdout:
      /^config\t.*\nbackends\t.*\nkeys\t.*\nlimits\t.*\nusage\t.*\nlog\t.*\nprofile\t.*\nmcp\t.*\nmemory\t.*\naudit\t.*\narms\t.*\nconnections\t.*\ntasks\t.*\ntrace\t.*\n:4\n$/,
    stderr: nothing,
  },
  {
    args: ["complete", "--", "ver"],
    code: 0,
    stdout: /^version\t.*\n:4\n$/,
    stderr: nothing,
  },
  {
    args: ["-f", "/nonexistent.yaml"],
    code: 1,
    stdout: nothing,
    stderr:
      /^gateway: Cannot read "\/nonexistent\.yaml": no such file or directory\n$/,
  },
];

for (const { args, code, stdout, stderr } of rows) {
  Deno.test(`gateway ${args.join(" ")} exits with ${code}`, async () => {
    const finished = await gateway(args);

    assert.match(finished.stderr, stderr);
    assert.match(finished.stdout, stdout);
    assert.equal(finished.code, code);
  });
}

for (const shell of ["bash", "zsh", "fish"]) {
  Deno.test(`gateway completion prints a script for ${shell}`, async () => {
    const { code, stdout } = await gateway(["completion", shell]);

    assert.equal(code, 0);
    assert.match(stdout, /gateway/);
    assert.match(stdout, /complete --/);
  });
}

Deno.test("completion for bash works without bash-completion, is sourced twice, and does not run what is typed", async () => {
  const { stdout: script } = await gateway(["completion", "bash"]);
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/script`, script);
  // The words that the script asks for, and what `gateway complete` answers.
  await Deno.writeTextFile(
    `${folder}/gateway`,
    `#!/bin/sh\nprintf '%s|' "$@" >> ${folder}/asked\nprintf 'proxy=\\tmodule\\npolicy=\\t\\n:4\\n'\n`,
    { mode: 0o755 },
  );
  const line = "gateway ctl $(touch made) --set pr";

  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: [
      "--norc",
      "-c",
      `source ./script && source ./script && COMP_LINE='${line}' COMP_POINT=${line.length} && { __gateway_complete; echo "\${COMPREPLY[@]}"; }`,
    ],
    cwd: folder,
    env: { PATH: `${folder}:${Deno.env.get("PATH")}` },
  }).output();

  const asked = await Deno.readTextFile(`${folder}/asked`);
  const names = await Array.fromAsync(
    Deno.readDir(folder),
    ({ name }) => name,
  );
  await Deno.remove(folder, { recursive: true });
  const text = new TextDecoder();
  assert.deepEqual([code, text.decode(stdout), text.decode(stderr)], [
    0,
    "proxy=\n",
    "",
  ]);
  assert.equal(asked, "complete|--|ctl|$(touch|made)|--set|pr|");
  assert.deepEqual(names.sort(), ["asked", "gateway", "script"]);
});

Deno.test("gateway called gwctl is gwctl", async () => {
  const help = await finish({ args: ["--help"], asGwctl: true });
  const wrong = await finish({ args: ["proxy", "lgo"], asGwctl: true });

  assert.match(help.stdout, /^Usage: gwctl /);
  assert.match(help.stdout, /gwctl proxy config all/);
  assert.match(wrong.stderr, /Did you mean log/);
});

Deno.test("gateway --validate-only reports when a configuration is valid", async () => {
  await withFile(configuration(8080, 15000), async (file) => {
    const { code, stdout, stderr } = await gateway([
      "-f",
      file,
      "--validate-only",
    ]);

    assert.deepEqual([code, stdout, stderr], [
      0,
      "Configuration is valid\n",
      "",
    ]);
  });
});

/** A route without a gateway takes effect nowhere, which is a warning. */
function strayRoutes(count: number): string {
  return Array.from({ length: count }, (_, index) =>
    `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: stray-${index} }
spec:
  parentRefs: [{ name: nobody }]
  rules: [{}]
`).join("");
}

for (
  const { count, said } of [{ count: 1, said: "1 warning" }, {
    count: 2,
    said: "2 warnings",
  }]
) {
  Deno.test(`gateway --validate-only counts ${said}`, async () => {
    const text = configuration(8080, 15000) + "\n" + strayRoutes(count);
    await withFile(text, async (file) => {
      const { code, stdout, stderr } = await gateway([
        "-f",
        file,
        "--validate-only",
      ]);

      assert.equal(stdout, `Configuration is valid, ${said}\n`);
      assert.equal(stderr.match(/: warning: /g)?.length, count);
      assert.equal(code, 0);
    });
  });
}

Deno.test("gateway --validate-only warns of a file that is cut off inside a line", async () => {
  const whole = `gateways: { default: { port: 8080 } }
routes: [{ name: all, backends: [{ host: "127.0.0.1:9000" }] }]
`;
  const stderrOf = (text: string) =>
    withFile(
      text,
      async (file) => (await gateway(["-f", file, "--validate-only"])).stderr,
    );

  assert.match(await stderrOf(whole + "policies:"), /may be cut off/);
  assert.equal(await stderrOf(whole), "");
});

Deno.test("gateway --validate-only --strict reports warnings as errors", async () => {
  const text = configuration(8080, 15000) + "\n" + strayRoutes(1);
  await withFile(text, async (file) => {
    const { code, stdout, stderr } = await gateway([
      "-f",
      file,
      "--validate-only",
      "--strict",
    ]);

    assert.equal(stdout, "");
    assert.match(stderr, /: error: .*gateway "default\/nobody" not found/);
    assert.equal(code, 1);
  });
});

Deno.test("gateway --validate-only --strict rejects a short API key, and tokens for any audience", async () => {
  const text = (key: string, audience: string) => `
gateways: { default: { port: 8080 } }
routes:
- name: keys
  hostnames: [a.example]
  policies: { apiKeyAuthentication: { keys: [{ key: ${key} }] } }
  backends: [{ host: "127.0.0.1:9000" }]
- name: tokens
  hostnames: [b.example]
  policies:
    jwtAuthentication:
      providers:
      - { issuer: "https://idp.example", ${audience} jwks: { url: "https://idp.example/jwks" } }
  backends: [{ host: "127.0.0.1:9000" }]
`;
  const check = (text: string) =>
    withFile(
      text,
      async (file) =>
        await gateway(["-f", file, "--validate-only", "--strict"]),
    );

  const careless = await check(text("planted-key", ""));
  const careful = await check(
    text("planted-key-0123", 'audiences: ["https://mcp.example"],'),
  );

  assert.equal(careless.code, 1);
  assert.match(careless.stderr, /:6:\d+: error: .*fewer than 16 characters/);
  assert.match(careless.stderr, /:13:\d+: error: .*`audiences` is not set/);
  assert.doesNotMatch(careless.stderr, /planted-key/);
  assert.deepEqual([careful.code, careful.stderr], [0, ""]);
});

Deno.test("gateway rejects --strict without --validate-only", async () => {
  const { code, stderr } = await gateway(["-f", "gateway.yaml", "--strict"]);

  assert.match(stderr, /--strict requires --validate-only/);
  assert.equal(code, 2);
});

Deno.test("gateway that cannot start prints each warning once, the place first", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const text = configuration(taken.addr.port, freePort()) + "\n" +
    strayRoutes(1);
  await withFile(text, async (file) => {
    const { code, stderr } = await gateway(["-f", file]);

    assert.equal(code, 1);
    assert.equal(stderr.match(/: warning: /g)?.length, 1, stderr);
    assert(stderr.startsWith(`${file}:`), stderr);
  });
});

for (const more of [["--validate-only"], []]) {
  Deno.test(`gateway -f FILE ${more.join(" ")} shows every error with its place`, async () => {
    await withFile(
      "gateways:\n  default: {port: http}\nroutse: []\n",
      async (file) => {
        const { code, stdout, stderr } = await gateway(["-f", file, ...more]);

        assert.equal(code, 1);
        assert.equal(stdout, "");
        assert.match(stderr, /:2:19: error: gateways\.default\.port: /);
        assert.match(stderr, /:3:1: error: .*did you mean "routes"\?/);
      },
    );
  });
}

Deno.test("gateway runs until SIGTERM, logs to standard error and requests to standard output", async () => {
  const port = freePort();
  await withFile(configuration(port, freePort()), async (file) => {
    await using process = startCommand({ args: ["-f", file] });
    await process.waitFor(/\tadmin\tListening/);

    const response = await fetch(`http://127.0.0.1:${port}/x?token=secret`);
    await response.text();
    process.signal("SIGTERM");

    assert.equal(await process.exited, 0);
    assert.match(
      process.stdout(),
      /^[^\n]*\twarn\trequest gateway=default .*http\.path=\/x .*http\.status=503 .*\n$/,
    );
    assert.match(process.stderr(), /\tgateway\tDraining/);
    assert.doesNotMatch(process.stdout() + process.stderr(), /secret/);
  });
});

for (
  const { signal, code } of [{ signal: "SIGINT", code: 130 }, {
    signal: "SIGTERM",
    code: 143,
  }] as const
) {
  Deno.test(`gateway ends at once on a second ${signal}`, async () => {
    const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const port = freePort();
    const text = configuration(port, freePort()).replace(
      "127.0.0.1:9",
      `127.0.0.1:${silent.addr.port}`,
    );
    await withFile(text, async (file) => {
      await using process = startCommand({ args: ["-f", file] });
      await process.waitFor(/\tadmin\tListening/);
      using client = await Deno.connect({ hostname: "127.0.0.1", port });
      await client.write(
        new TextEncoder().encode("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
      );
      const upstream = await silent.accept();

      process.signal(signal);
      await process.waitFor(/Draining/);
      process.signal(signal);

      assert.equal(await process.exited, code);
      upstream.close();
    });
    silent.close();
  });
}

Deno.test({
  name: "gateway reads its configuration again on SIGHUP",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFile(configuration(freePort(), freePort()), async (file) => {
      await using process = startCommand({ args: ["-f", file] });
      await process.waitFor(/\tadmin\tListening/);

      process.signal("SIGHUP");
      await process.waitFor(
        /\tprocess\tReloading signal=SIGHUP\n.*\tgateway\tConfiguration applied/,
      );
      process.signal("SIGTERM");

      assert.equal(await process.exited, 0);
    });
  },
});

Deno.test("gateway serves and stops although its access log is not read", async () => {
  const port = freePort();
  await withFile(configuration(port, freePort()), async (file) => {
    await using child = gatewayCommand({ args: ["-f", file] }).spawn();
    const log = child.stderr.getReader();
    await readUntil(log, /\tadmin\tListening/);

    // More lines than a pipe holds.
    for (let i = 0; i < 400; i++) {
      await (await fetch(`http://127.0.0.1:${port}/`)).text();
    }
    child.kill("SIGTERM");

    const { code } = await child.status;
    assert.equal(code, 0);
    await log.cancel();
    await child.stdout.cancel();
  });
});

Deno.test("gateway reports which port is taken", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;

  await withFile(configuration(port, freePort()), async (file) => {
    const { code, stderr } = await gateway(["-f", file]);

    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`Cannot listen on .*${port}`));
  });
  await withFile(configuration(freePort(), port), async (file) => {
    const { code, stderr } = await gateway(["-f", file]);

    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(
        `Cannot listen on config\\.adminAddr "127\\.0\\.0\\.1:${port}": the port is in use`,
      ),
    );
  });
});

Deno.test("gateway reports that its admin and stats addresses are the same", async () => {
  const port = freePort();
  const text = configuration(freePort(), port).replace(
    '"statsAddr":"off"',
    `"statsAddr":"127.0.0.1:${port}"`,
  );
  await withFile(text, async (file) => {
    const { code, stdout, stderr } = await gateway(["-f", file]);

    assert.equal(code, 1);
    assert.match(
      stderr,
      /^gateway: Cannot listen on config\.statsAddr .*: config\.adminAddr uses the same port\. Set another address, or "off"\n$/,
    );
    assert.equal(stdout, "");
  });
});

Deno.test("gateway opens no port for requests when its admin port is taken", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await withFile(configuration(freePort(), taken.addr.port), async (file) => {
    const { code, stderr } = await gateway(["-f", file]);

    assert.equal(code, 1);
    assert.match(
      stderr,
      /^[^\n]*: error: config\.adminAddr: Cannot listen on config\.adminAddr [^\n]*\n[^\n]*\n[^\n]*\n$/,
    );
  });
});

Deno.test("gwctl shows and changes a running gateway", async () => {
  const adminPort = freePort();
  // A proxy of the environment must not come between.
  const env = {
    HTTP_PROXY: "http://127.0.0.1:9",
    http_proxy: "http://127.0.0.1:9",
  };
  await withFile(configuration(freePort(), adminPort), async (file) => {
    await using process = startCommand({ args: ["-f", file] });
    await process.waitFor(/\tadmin\tListening/);
    const ctl = (...args: string[]) =>
      gateway(["ctl", "proxy", ...args, "-p", String(adminPort)], env);

    const json = await ctl("config", "all", "--local", "-o", "json");
    const yaml = await ctl("config", "all");
    const level = await ctl("log");
    const changed = await ctl(
      "log",
      "--level",
      "warn",
      "--set",
      "proxy:debug",
      "--set",
      "request=off",
    );
    const refused = await ctl("log", "--level", "loud");
    const reset = await ctl("log", "--reset");

    assert.equal(JSON.parse(json.stdout).routes[0].name, "all");
    assert.match(yaml.stdout, /^routes:\n {2}- key: default\/all\/0\n/m);
    assert.equal(level.stdout, "current log level is info\n");
    assert.equal(
      changed.stdout,
      "current log level is warn,proxy=debug,request=off\n",
    );
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /returned 400: Invalid level provided: loud/);
    assert.equal(reset.stdout, "current log level is info\n");
  });
});

Deno.test("gwctl renders a saved dump", async () => {
  await withFile('{"binds":[],"config":{"adminAddr":"off"}}', async (file) => {
    const yaml = await gateway([
      "ctl",
      "proxy",
      "config",
      "all",
      "--file",
      file,
      "-o",
      "yaml",
    ]);
    const json = await gateway([
      "ctl",
      "proxy",
      "config",
      "all",
      "--file",
      file,
      "-o",
      "json",
    ]);

    assert.deepEqual(yaml, {
      code: 0,
      stdout: "binds: []\nconfig:\n  adminAddr: off\n",
      stderr: "",
    });
    assert.equal(
      json.stdout,
      '{\n  "binds": [],\n  "config": {\n    "adminAddr": "off"\n  }\n}\n',
    );
  });
  await withFile("not a dump", async (file) => {
    const { code, stderr } = await gateway([
      "ctl",
      "proxy",
      "config",
      "all",
      "--file",
      file,
    ]);

    assert.equal(code, 1);
    assert.match(stderr, /not the JSON of \/config_dump/);
  });
});

Deno.test("gateway prints no error when the reader of its output exits", async () => {
  const child = gatewayCommand({ args: ["schema"] }).spawn();
  await child.stdout.cancel();

  const stderr = await new Response(child.stderr).text();

  assert.equal(stderr, "");
  assert.equal((await child.status).code, 0);
});

Deno.test("gateway dev runs the commands of its guide", async () => {
  const port = freePort();
  const adminPort = freePort();
  await using process = startCommand({
    args: [
      "dev",
      "--port",
      String(port),
      "--admin",
      `127.0.0.1:${adminPort}`,
      "--stats",
      "off",
    ],
  });
  await process.waitFor(/Press Ctrl-C to stop/);

  const commands = process.stdout().replaceAll("\\\n", " ").split("\n").filter((
    line,
  ) => line.startsWith("  curl "));
  const [limited = "", watch = ""] = commands.splice(4);
  const answers = await Promise.all(commands.map(runInShell));
  let trace = "";
  const watching = runInShell(watch).then((text) => trace = text);
  let refused = "";
  while (trace === "" || !refused.includes("429")) {
    refused = await runInShell(limited);
  }
  await watching;
  process.signal("SIGINT");

  assert.equal(answers.length, 4);
  assert.match(
    answers[0] ?? "",
    /mcp-session-id: .*"protocolVersion":"2025-11-25"/s,
  );
  assert.match(answers[1] ?? "", /"object":"chat\.completion"/);
  assert.match(answers[2] ?? "", /data: \[DONE\]/);
  assert.match(answers[3] ?? "", /"type":"message"/);
  assert.match(refused, /retry-after: \d+.*rate limit exceeded/s);
  assert.match(trace, /"requestStarted".*"rateLimit".*"requestFinished"/s);
  assert.equal(await process.exited, 0);
});

Deno.test("gateway dev reports what to do when its port is taken", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });

  const { code, stderr } = await gateway([
    "dev",
    "--port",
    String(taken.addr.port),
  ]);

  assert.equal(code, 1);
  assert.match(
    stderr,
    /^gateway: Cannot listen on port [0-9]+: another program uses it\. .*--port <port>"\n$/,
  );
});

Deno.test("gateway dev reports what to do when its admin port is taken", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const admin = `127.0.0.1:${taken.addr.port}`;

  const { code, stderr } = await gateway([
    "dev",
    "--port",
    String(freePort()),
    "--admin",
    admin,
    "--stats",
    "off",
  ]);

  assert.equal(code, 1);
  assert.match(
    stderr,
    /^gateway: Cannot listen on port [0-9]+: another program uses it\. .*--admin <address> --stats off"\n$/,
  );
});

Deno.test("gateway dev names all of its ports that are taken, and says at once what it starts", async () => {
  using first = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using second = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const admin = `127.0.0.1:${second.addr.port}`;
  const args = ["--port", String(first.addr.port), "--admin", admin];

  const { stderr } = await gateway(["dev", ...args, "--stats", "off"]);
  await using process = startCommand({
    args: [
      "dev",
      "--port",
      `${freePort()}`,
      "--admin",
      "off",
      "--stats",
      "off",
    ],
  });

  assert.equal(
    stderr,
    `gateway: Cannot listen on ports ${first.addr.port} and ${second.addr.port}: other programs use them. Select others with "gateway dev --port <port> --admin <address> --stats off"\n`,
  );
  await process.waitFor(/^Starting demo MCP servers, .*…$/m);
});

Deno.test("gateway reports what to do when its admin port is taken", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(
    file,
    `config: { adminAddr: "127.0.0.1:${taken.addr.port}" }\n`,
  );

  const { code, stderr } = await gateway(["-f", file]);

  assert.equal(code, 1);
  assert.match(
    stderr,
    /:1:\d+: error: config\.adminAddr: Cannot listen on config\.adminAddr .*in use by another process\. Set another address, or "off"\n/,
  );
  await Deno.remove(file);
});

Deno.test("gwctl shows the limits without the control characters of an error", async () => {
  const error = "\x1b]0;title\x07refused";
  await using admin = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ budgets: [{ scope: "route", lastError: error }] }),
  );

  const { code, stdout } = await gateway(
    ["ctl", "proxy", "limits", "-p", String(admin.addr.port)],
  );

  assert.equal(code, 0);
  assert.equal(
    stdout,
    "SCOPE  LEFT  ERROR\nroute  -     ␛]0;title␇refused\n",
  );
});

async function readUntil(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  pattern: RegExp,
): Promise<void> {
  const decoder = new TextDecoder();
  for (let text = ""; !pattern.test(text);) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`Ended without ${pattern}:\n${text}`);
    text += decoder.decode(value, { stream: true });
  }
}

async function runInShell(command: string): Promise<string> {
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", `${command} -s`],
    stderr: "null",
  }).output();
  return new TextDecoder().decode(stdout);
}
