import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startCommand } from "../../harness/process/running_command.ts";

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function gateway(
  args: readonly string[],
  asGwctl = false,
): Promise<Finished> {
  const { code, stdout, stderr } = await gatewayCommand({ args, asGwctl })
    .output();
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}

interface Site extends AsyncDisposable {
  readonly file: string;
  readonly port: number;
  readonly adminPort: number;
  readonly statsPort: number;
  readonly text: string;
  /** Writes another file beside it. */
  write(name: string, text: string): Promise<string>;
}

async function createSite(): Promise<Site> {
  const folder = await Deno.makeTempDir();
  const [port, adminPort, statsPort] = [freePort(), freePort(), freePort()];
  const text = `config:
  adminAddr: 127.0.0.1:${adminPort}
  statsAddr: 127.0.0.1:${statsPort}
  workers: 1
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes:
- name: hello
  policies: { directResponse: { status: 200, body: hello } }
- name: api
  matches: [{ path: { type: PathPrefix, value: /api } }]
  backends: [{ host: 127.0.0.1:9 }]
`;
  const write = async (name: string, text: string) => {
    await Deno.writeTextFile(`${folder}/${name}`, text);
    return `${folder}/${name}`;
  };
  return {
    file: await write("gateway.yaml", text),
    port,
    adminPort,
    statsPort,
    text,
    write,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

const stray = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: stray }
spec: { parentRefs: [{ name: nobody }], rules: [{}] }
`;

Deno.test("gateway validate checks a file, and --strict its warnings", async () => {
  await using site = await createSite();
  const warned = await site.write("warned.yaml", site.text + stray);
  const wrong = await site.write("wrong.yaml", "routse: []\n");

  const results = await Promise.all([
    gateway(["validate", site.file]),
    gateway(["validate", "-f", warned]),
    gateway(["validate", "--strict", warned]),
    gateway(["validate", wrong]),
  ]);

  assert.deepEqual(results.map(({ code }) => code), [0, 0, 1, 1]);
  assert.equal(results[0]?.stdout, "Configuration is valid\n");
  assert.equal(results[1]?.stdout, "Configuration is valid, 1 warning\n");
  assert.match(results[2]?.stderr ?? "", /: error: .*"default\/nobody"/);
  assert.match(results[3]?.stderr ?? "", /did you mean "routes"\?/);
});

for (const command of ["validate", "run"]) {
  Deno.test(`gateway ${command} needs one configuration`, async () => {
    const none = await gateway([command]);
    const two = await gateway([command, "a.yaml", "-f", "b.yaml"]);

    assert.equal(none.code, 2);
    assert.match(none.stderr, new RegExp(`^Usage: gateway ${command}`));
    assert.equal(two.code, 2);
    assert.match(two.stderr, /expected one configuration/);
  });
}

Deno.test("gateway run serves, and gwctl says what is at a wrong port", async () => {
  await using site = await createSite();
  await using process = startCommand({ args: ["run", site.file] });
  await process.waitFor(/\tadmin\tListening/);
  const response = await fetch(`http://127.0.0.1:${site.port}/x`);
  assert.equal(await response.text(), "hello");
  // The directResponse route has every path but this one.
  const listener = `127.0.0.1:${site.port}`;
  const stats = `127.0.0.1:${site.statsPort}`;

  const gwctl = (...args: string[]) => gateway(args, true);
  const [wrong, metrics, short, trace] = await Promise.all([
    gwctl("proxy", "config", "all", "--admin", listener),
    gwctl("proxy", "log", "--admin", stats),
    gwctl("proxy", "config", "all", "-p", `${site.adminPort}`, "-o", "short"),
    gwctl("trace", "--expression", "1 +", "-p", `${site.adminPort}`, "--raw"),
  ]);

  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /Is it the admin interface of a gateway\?/);
  assert.match(
    metrics.stderr,
    /127\.0\.0\.1:\d+ has metrics and health \("config\.statsAddr"\)/,
  );
  assert.match(
    short.stdout,
    /^listener +default\/default\/default +HTTP \d+ \*$/m,
  );
  assert.match(
    short.stdout,
    /^route +default\/api\/0 +default\/api\/backend0$/m,
  );
  assert.equal(trace.code, 2);
  assert.match(trace.stderr, /Cannot trace: invalid filter/);
  process.signal("SIGTERM");
  assert.equal(await process.exited, 0);
});

Deno.test("gateway import writes a configuration that is valid", async () => {
  await using site = await createSite();
  const source = await site.write(
    "other.yaml",
    `gateways: { default: { port: 8080 } }
routes:
- { name: api, backends: [{ host: "127.0.0.1:9" }], policies: { delay: 1s } }
`,
  );
  const target = source.replace("other", "imported");

  const printed = await gateway(["import", source]);
  const written = await gateway(["import", source, "-o", target]);
  const again = await gateway(["import", source, "-o", target]);
  const valid = await gateway(["validate", "--strict", target]);

  assert.deepEqual([printed.code, written.code, again.code], [0, 0, 1]);
  assert.equal(printed.stdout, await Deno.readTextFile(target));
  assert.equal(
    printed.stderr,
    `${source}:3:65: warning: routes[0].policies.delay: no counterpart\n1 not taken over\n`,
  );
  assert.match(again.stderr, /Cannot write ".*": .*exists/);
  assert.equal(valid.stdout, "Configuration is valid\n");
});

Deno.test("gateway config diff shows what a file would change", async () => {
  await using site = await createSite();
  await using process = startCommand({ args: ["-f", site.file] });
  await process.waitFor(/\tadmin\tListening/);
  const changed = await site.write(
    "changed.yaml",
    site.text.replace("value: /api", "value: /v2")
      .replace("name: hello", "name: hallo"),
  );
  const admin = ["-p", String(site.adminPort)];
  const diff = (...args: string[]) => gateway(["config", "diff", ...args]);

  const same = await diff(site.file, ...admin);
  const running = await diff(changed, ...admin, "--exit-code");
  const files = await diff(site.file, changed);
  const reverse = await diff(changed, site.file);
  const wrong = await site.write("wrong.yaml", "routse: []\n");
  const invalid = await diff(wrong, ...admin);

  assert.deepEqual([same.code, same.stdout], [0, "No differences\n"]);
  assert.equal(running.code, 1);
  assert.match(
    running.stdout,
    /^~ routes default\/api\/0\n {4}- matches\.path\.value: "\/api"\n {4}\+ matches\.path\.value: "\/v2"$/m,
  );
  assert.match(running.stdout, /^- routes default\/hello\/0$/m);
  assert.match(running.stdout, /^\+ routes default\/hallo\/0$/m);
  assert.deepEqual([files.code, files.stdout], [0, running.stdout]);
  assert.match(reverse.stdout, /^- routes default\/hallo\/0$/m);
  assert.equal(invalid.code, 1);
  assert.match(invalid.stderr, /did you mean "routes"\?/);
  process.signal("SIGTERM");
  await process.exited;
});
