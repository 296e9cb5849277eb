/** The executable that `make build` made, on machines that have nothing; `make e2e` names it in `GATEWAY_BIN`. */
import assert from "node:assert/strict";
import config from "../../../deno.json" with { type: "json" };

const executable = Deno.env.get("GATEWAY_BIN");
assert(
  executable,
  'Cannot test the executable: set "GATEWAY_BIN", or run make e2e',
);

interface Start {
  readonly file?: string;
  readonly args: string[];
  readonly cwd?: string;
}

/** The executable unpacks itself into it once: that takes two seconds of processor time. */
const cache = Deno.makeTempDirSync();
addEventListener("unload", () => Deno.removeSync(cache, { recursive: true }));

/** Runs the executable on a machine without Deno, home directory or settings. */
async function run(
  { file = executable ?? "", args, cwd = "/" }: Start,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await new Deno.Command(file, {
    args,
    cwd,
    env: { PATH: "/usr/bin:/bin", TMPDIR: cache },
    clearEnv: true,
    stdin: "null",
  }).output();
  return {
    code,
    stdout: new TextDecoder().decode(stdout),
    stderr: new TextDecoder().decode(stderr),
  };
}

Deno.test("executable tells its version on a machine without Deno and home directory", async () => {
  const { code, stdout, stderr } = await run({ args: ["version"] });

  assert.equal(code, 0, stderr);
  assert(stdout.includes(config.version), stdout);
  assert.equal(stderr, "");
});

for (const name of ["gateway", "gwctl"] as const) {
  Deno.test(`${name} answers --help as the program does`, async () => {
    const file = executable.replace(/[^/]*$/, name);

    const [short, long, words] = await Promise.all(
      [["-h"], ["--help"], ["help"]].map((args) => run({ file, args })),
    );
    // Not what the launcher knows.
    const whole = await run({ file, args: ["--help", "--help"] });

    assert.match(whole.stdout, new RegExp(`^Usage: ${name} `));
    for (
      const { code, stdout } of [short, long, words].flatMap((each) =>
        each ?? []
      )
    ) {
      assert.equal(code, 0);
      assert.equal(stdout.trimEnd(), whole.stdout.trimEnd());
    }
  });
}

Deno.test("executable runs the whole gateway when it validates a configuration", async () => {
  const directory = await Deno.makeTempDir();
  const file = `${directory}/two words.yaml`;
  await Deno.writeTextFile(
    file,
    `gateways: {default: {port: 3000, protocol: HTTP}}
routes: [{name: all, backends: [{host: "127.0.0.1:9000"}]}]
`,
  );

  const { code, stderr } = await run({ args: ["-f", file, "--validate-only"] });

  assert.equal(code, 0, stderr);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("executable names the file that it cannot read", async () => {
  const { code, stderr } = await run({
    args: ["-f", "/nonexistent/two words.yaml", "--validate-only"],
  });

  assert.notEqual(code, 0);
  assert(stderr.includes("/nonexistent/two words.yaml"), stderr);
});

Deno.test("executable is gwctl when it is called so", async () => {
  const gateway = await run({ args: ["ctl", "proxy", "--help"] });

  const gwctl = await run({
    file: `${executable.replace(/[^/]*$/, "")}gwctl`,
    args: ["proxy", "--help"],
  });

  assert.equal(gwctl.code, 0, gwctl.stderr);
  assert.match(gwctl.stdout, /^Usage: gwctl proxy /);
  assert.equal(
    gwctl.stdout,
    gateway.stdout.replaceAll("gateway ctl", "gwctl"),
  );
});

Deno.test("executable has the playground, importers and terminal UI in files that load on demand", async () => {
  const folder = `${executable.replace(/[^/]*$/, "")}program`;
  const read = (name: string) => Deno.readTextFileSync(`${folder}/${name}`);
  const loaded = new Set(["main.js"]);
  for (const name of loaded) {
    for (
      const [, imported = ""] of read(name).matchAll(
        /^(?:import|\}|export .*) ?(?:from )?"\.\/([^"]+)";$/gm,
      )
    ) loaded.add(imported);
  }
  const all = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);

  const [eager, whole] = [[...loaded], all].map((names) =>
    names.map(read).join("\n").length
  );

  assert(loaded.size > 5, [...loaded].join());
  assert(eager !== undefined && whole !== undefined && eager < whole / 20);
});
