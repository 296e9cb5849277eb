/** The packages of a release, made of the executable that `GATEWAY_BIN` names, and installed as users do. */
import assert from "node:assert/strict";
import config from "../../../deno.json" with { type: "json" };

const executable = Deno.env.get("GATEWAY_BIN");
assert(
  executable,
  'Cannot test the packages: set "GATEWAY_BIN", or run make e2e',
);
const root = decodeURIComponent(new URL("../../../", import.meta.url).pathname);
const platform = Deno.build.arch === "x86_64" ? "x64" : "arm64";
const debian = Deno.build.arch === "x86_64" ? "amd64" : "arm64";
const file = `gateway-linux-${platform}`;

/** dpkg and systemd are there on Linux only. */
const test = Deno.build.os === "linux" ? Deno.test : Deno.test.ignore;

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Run> {
  const command = new Deno.Command(program, {
    args: [...args],
    cwd: root,
    env,
    stdin: "null",
  });
  const { code, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}

async function succeed(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, env);
  assert.equal(code, 0, `${program} ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

/** A folder that is served as releases are, and a directory to install to. */
class Release implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  private constructor(readonly folder: string, readonly home: string) {
    this.#server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      async (request) => {
        const name = new URL(request.url).pathname;
        const opened = await Deno.open(folder + name).catch(() => undefined);
        return opened === undefined
          ? new Response(null, { status: 404 })
          : new Response(opened.readable);
      },
    );
  }

  static async create(): Promise<Release> {
    const folder = await Deno.makeTempDir();
    await Deno.copyFile(executable ?? "", `${folder}/${file}`);
    return new Release(folder, await Deno.makeTempDir());
  }

  get downloads(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Makes all files beside the executable. */
  async fill(): Promise<void> {
    await succeed(Deno.execPath(), [
      "run",
      "-A",
      "--no-check",
      ".ci/packages/packages.ts",
      this.folder,
      this.downloads,
      "https://gateway.example",
    ], { DEB_COMPRESSION: "none" });
  }

  install(script: string, env: Record<string, string> = {}): Promise<Run> {
    return run("sh", ["-c", script], {
      GATEWAY_INSTALL_DIR: `${this.home}/bin`,
      GATEWAY_CACHE_DIR: `${this.home}/cache`,
      ...env,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    await Deno.remove(this.folder, { recursive: true });
    await Deno.remove(this.home, { recursive: true });
  }
}

/** Returns the names in a folder, none if it is missing. */
function namesIn(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

test("packages of a release", async (t) => {
  await using release = await Release.create();
  await release.fill();

  await t.step(
    "install.sh installs the gateway, and again over itself",
    async () => {
      for (const _ of ["first", "again"]) {
        const { code, stdout, stderr } = await release.install(
          `curl -fsSL ${release.downloads}/install.sh | sh`,
        );

        assert.equal(code, 0, stderr);
        assert(stdout.includes(`Installed gateway ${config.version}`), stdout);
        assert(
          stdout.includes(`export PATH="${release.home}/bin:$PATH"`),
          stdout,
        );
        assert.deepEqual(namesIn(`${release.home}/bin`), ["gateway", "gwctl"]);
      }
      const help = await succeed(`${release.home}/bin/gwctl`, ["--help"]);
      assert.match(help, /^Usage: gwctl /);
    },
  );

  await t.step(
    "Debian package has unit, configuration and a gateway that runs with it",
    async () => {
      const name = `${release.folder}/gateway_${config.version}_${debian}.deb`;
      const tree = `${release.home}/debian`;
      await succeed("dpkg-deb", ["--extract", name, tree]);
      const listed = await succeed("dpkg-deb", ["--contents", name]);
      assert.match(listed, /^drwxr-xr-x root\/root .* \.\/$/m);
      assert.equal(
        await succeed("dpkg-deb", ["--field", name, "Version"]),
        `${config.version}\n`,
      );

      const env = { GATEWAY_CACHE_DIR: `${release.home}/cache` };
      await succeed(`${tree}/usr/bin/gateway`, [
        "-f",
        `${tree}/etc/gateway/gateway.yaml`,
        "--validate-only",
      ], env);
      const help = await succeed(`${tree}/usr/bin/gwctl`, ["--help"], env);
      assert.match(help, /^Usage: gwctl /);
    },
  );

  await t.step(
    "Debian package is installed, upgraded, removed and purged by dpkg",
    async () => {
      const name = `${release.folder}/gateway_${config.version}_${debian}.deb`;
      const database = `${release.home}/root`;
      await Deno.mkdir(`${database}/var/lib/dpkg/updates`, { recursive: true });
      await Deno.mkdir(`${database}/var/lib/dpkg/info`);
      await Deno.writeTextFile(`${database}/var/lib/dpkg/status`, "");
      const dpkg = (...args: string[]) =>
        succeed("dpkg", [
          `--root=${database}`,
          "--force-not-root,script-chrootless,depends",
          "--log=/dev/null",
          ...args,
        ], { PATH: `${Deno.env.get("PATH")}:/usr/sbin:/sbin` });
      const settings = `${database}/etc/gateway/gateway.yaml`;

      assert.match(
        await dpkg("--install", name),
        /systemctl enable --now gateway/,
      );
      await Deno.writeTextFile(settings, "# mine\n");
      await dpkg("--install", name);
      assert.equal(await Deno.readTextFile(settings), "# mine\n");
      await dpkg("--remove", "gateway");
      assert.equal(await Deno.readTextFile(settings), "# mine\n");
      await dpkg("--purge", "gateway");
      await assert.rejects(Deno.stat(settings), Deno.errors.NotFound);
    },
  );

  await t.step(
    "npm package starts the executable of the platform",
    async () => {
      const prefix = `${release.home}/npm`;
      const files = (await Array.fromAsync(Deno.readDir(release.folder)))
        .filter(({ name }) => name.endsWith(".tgz"))
        .map(({ name }) => `${release.folder}/${name}`);
      assert.equal(files.length, 2);
      await succeed("npm", [
        "install",
        "--prefix",
        prefix,
        "--offline",
        "--no-audit",
        "--no-fund",
        ...files,
      ]);

      const env = { GATEWAY_CACHE_DIR: `${release.home}/cache` };
      const bin = `${prefix}/node_modules/.bin`;
      assert(
        (await succeed(`${bin}/gateway`, ["version"], env)).includes(
          config.version,
        ),
      );
      assert.match(
        await succeed(`${bin}/gwctl`, ["proxy", "--help"], env),
        /^Usage: /,
      );
      assert.equal((await run(`${bin}/gateway`, ["--nonsense"], env)).code, 2);
    },
  );

  await t.step(
    "bill of materials has every package with version, license and hash",
    async () => {
      const bill = JSON.parse(
        await Deno.readTextFile(`${release.folder}/gateway.cdx.json`),
      );

      assert.equal(bill.specVersion, "1.6");
      assert.equal(bill.metadata.component.version, config.version);
      const names = bill.components.map(({ name }: { name: string }) => name);
      for (const name of ["deno", "jose", "preact", "yaml", "@bufbuild/cel"]) {
        assert(names.includes(name), name);
      }
      assert(!names.includes("playwright-core"));
      for (const { name, version, purl, licenses, hashes } of bill.components) {
        assert.match(version, /^\d/, name);
        assert(purl.endsWith(`@${version}`), purl);
        assert(licenses?.length > 0, `${name} has no license`);
        if (name !== "deno") assert.match(hashes[0].content, /^[0-9a-f]{128}$/);
      }
    },
  );

  await t.step(
    "SHA256SUMS are right, and no value of a template is left",
    async () => {
      const sums = await succeed("sh", [
        "-c",
        `cd ${release.folder} && sha256sum --check --strict SHA256SUMS`,
      ]);
      assert(sums.includes("install.sh: OK"), sums);
      const script = await Deno.readTextFile(`${release.folder}/install.sh`);
      assert.doesNotMatch(script, /@[A-Z]+@/);
    },
  );

  // The last, as it changes what was released.
  await t.step(
    "install.sh installs nothing of a download that is not what was released",
    async () => {
      const bin = `${release.home}/empty`;
      const install = () =>
        release.install(`sh ${release.folder}/install.sh`, {
          GATEWAY_INSTALL_DIR: bin,
        });

      await Deno.writeTextFile(
        `${release.folder}/${file}`,
        "#!/bin/sh\nexit 0\n",
      );
      const changed = await install();
      assert.equal(changed.code, 1);
      assert.match(
        changed.stderr,
        /has the wrong checksum, nothing was installed/,
      );
      assert.deepEqual(namesIn(bin), []);

      await Deno.writeTextFile(`${release.folder}/SHA256SUMS`, "");
      const unlisted = await install();
      assert.match(
        unlisted.stderr,
        /Cannot find "gateway-linux-.*" in SHA256SUMS/,
      );

      await Deno.remove(`${release.folder}/${file}`);
      const missing = await install();
      assert.equal(missing.code, 1);
      assert.match(missing.stderr, /Cannot download/);
      assert.deepEqual(namesIn(bin), []);
    },
  );
});

Deno.test("install.sh does nothing when it was cut short", async () => {
  const whole = await Deno.readTextFile(`${root}deploy/packages/install.sh`);
  const home = await Deno.makeTempDir();

  for (const part of [0.2, 0.5, 0.8, 0.99]) {
    const cut = whole.slice(0, Math.floor(whole.length * part));
    const { stdout } = await run("sh", ["-c", cut], {
      GATEWAY_INSTALL_DIR: `${home}/bin`,
    });
    assert.equal(stdout, "");
  }

  assert.deepEqual(await Array.fromAsync(Deno.readDir(home)), []);
  await Deno.remove(home);
});

test("systemd accepts the unit, and finds it well protected", async () => {
  const folder = await Deno.makeTempDir();
  const unit = `${folder}/gateway.service`;
  const text = await Deno.readTextFile(
    `${root}deploy/packages/gateway.service`,
  );
  await Deno.writeTextFile(
    unit,
    text.replaceAll("@HOMEPAGE@", "https://gateway.example")
      .replace("/usr/bin/gateway", "/bin/true"),
  );

  const verified = await run("systemd-analyze", ["verify", unit]);
  assert.doesNotMatch(verified.stderr, /gateway\.service/);
  const rated = await run("systemd-analyze", [
    "security",
    "--offline=true",
    "--threshold=25",
    unit,
  ]);
  assert.equal(rated.code, 0, rated.stdout + rated.stderr);
  await Deno.remove(folder, { recursive: true });
});
