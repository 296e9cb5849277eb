import assert from "node:assert/strict";

/** A machine of its own: a copy of `.ci/deno` and a PATH with a few plain tools and what the test adds. */
class Machine {
  readonly #path = Deno.makeTempDirSync();

  constructor() {
    for (const folder of [".ci", "bin"]) {
      Deno.mkdirSync(`${this.#path}/${folder}`);
    }
    Deno.copyFileSync(
      new URL("../../../.ci/deno", import.meta.url),
      `${this.#path}/.ci/deno`,
    );
    for (
      const tool of [
        "sed",
        "dirname",
        "mkdir",
        "mktemp",
        "rm",
        "mv",
        "cp",
        "chmod",
      ]
    ) this.install(tool, `exec ${find(tool)} "$@"`);
  }

  install(name: string, script: string): this {
    Deno.writeTextFileSync(
      `${this.#path}/bin/${name}`,
      `#!/bin/sh\n${script}\n`,
      { mode: 0o755 },
    );
    return this;
  }

  remove(name: string): void {
    Deno.removeSync(`${this.#path}/bin/${name}`);
  }

  async run(
    ...args: string[]
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
      args: [`${this.#path}/.ci/deno`, ...args],
      env: { PATH: `${this.#path}/bin` },
      clearEnv: true,
    }).output();
    const decoder = new TextDecoder();
    return {
      code,
      stdout: decoder.decode(stdout),
      stderr: decoder.decode(stderr),
    };
  }

  /** Contents of `.tools`. */
  tools(): string[] {
    return [...Deno.readDirSync(`${this.#path}/.tools`)].map(({ name }) =>
      name
    );
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#path, { recursive: true });
  }
}

function find(tool: string): string {
  const path = ["/bin", "/usr/bin"].map((folder) => `${folder}/${tool}`).find(
    (path) => {
      try {
        return Deno.statSync(path).isFile;
      } catch {
        return false;
      }
    },
  );
  return path ?? tool;
}

function denoOf(version: string): string {
  return `[ "$1" = --version ] && { echo "deno ${version} (stable)"; exit; }; echo "${version} ran $*"`;
}

/** An npm that delivers a Deno for this platform, and only when told not to run install scripts. */
const npm = `
case "$*" in "install --prefix "*" --no-save --ignore-scripts "*" deno@2.9.6") ;; *) exit 9 ;; esac
folder=$3/node_modules/@deno/this-platform
mkdir -p "$folder"
echo '#!/bin/sh' > "$folder/deno"
echo 'case "$1" in run-deno) exec deno by-name ;; *) echo "fetched ran $*" ;; esac' >> "$folder/deno"
chmod +x "$folder/deno"`;

for (const version of ["2.9.0", "2.9.6", "2.10.1", "3.0.0"]) {
  Deno.test(`.ci/deno runs a Deno ${version} that is on the PATH`, async () => {
    using machine = new Machine().install("deno", denoOf(version)).install(
      "npm",
      npm,
    );

    const { stdout } = await machine.run("task", "two words");

    assert.equal(stdout, `${version} ran task two words\n`);
  });
}

for (const version of ["1.46.3", "2.8.9"]) {
  Deno.test(`.ci/deno passes over a Deno ${version} that is on the PATH`, async () => {
    using machine = new Machine().install("deno", denoOf(version)).install(
      "npm",
      npm,
    );

    const { stdout, stderr } = await machine.run("task");

    assert.equal(stdout, "fetched ran task\n", stderr);
  });
}

Deno.test(".ci/deno fetches Deno once", async () => {
  using machine = new Machine().install("npm", npm);
  await machine.run("task");
  machine.remove("npm");

  const { stdout, stderr } = await machine.run("task");

  assert.equal(stdout, "fetched ran task\n");
  assert.equal(stderr, "");
});

Deno.test(".ci/deno lets what it runs find the same Deno by name", async () => {
  using machine = new Machine().install("npm", npm);

  const { stdout, stderr } = await machine.run("run-deno");

  assert.equal(stdout, "fetched ran by-name\n", stderr);
});

Deno.test(".ci/deno reports what is missing when there is neither Deno nor npm", async () => {
  using machine = new Machine();

  const { code, stderr } = await machine.run("task");

  assert.equal(code, 1);
  assert.match(
    stderr,
    /^Cannot find Deno 2\.9 or later, nor npm to fetch it: install Deno .* or npm and try again\n$/,
  );
});

Deno.test(".ci/deno leaves nothing behind when npm fails", async () => {
  using machine = new Machine().install("npm", "exit 1");

  const { code, stderr } = await machine.run("task");

  assert.equal(code, 1);
  assert(stderr.endsWith("Cannot fetch Deno 2.9.6 with npm\n"), stderr);
  assert.deepEqual(machine.tools(), []);
});

Deno.test(".ci/deno says so when npm has no Deno for this platform", async () => {
  using machine = new Machine().install("npm", "exit 0");

  const { code, stderr } = await machine.run("task");

  assert.equal(code, 1);
  assert.match(stderr, /Cannot find a Deno executable for this platform/);
});
