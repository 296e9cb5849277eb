import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));

interface Lock {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<
    Record<
      string,
      {
        readonly dependencies?: readonly string[];
        readonly optionalDependencies?: readonly string[];
      } | undefined
    >
  >;
}

async function deno(args: string[], cache?: string): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
    env: { NO_COLOR: "1", ...(cache === undefined ? {} : { DENO_DIR: cache }) },
  });
  const { code, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  return decoder.decode(stdout);
}

async function readJson<T>(text: Promise<string> | string): Promise<T> {
  return JSON.parse(await text);
}

/** Packages that the product imports, as named in the lock file, with their dependencies. */
async function packagesOfProduct(): Promise<ReadonlySet<string>> {
  const lock = await readJson<Lock>(Deno.readTextFile(join(root, "deno.lock")));
  const graph = await readJson<
    { modules: { specifier: string; npmPackage?: string }[] }
  >(deno(["info", "--json", "main.ts"]));
  const found = new Set<string>();
  const add = (id: string) => {
    const name = Object.hasOwn(lock.npm, id)
      ? id
      : Object.keys(lock.npm).find((key) =>
        key.startsWith(`${id}@`) || key.startsWith(`${id}_`)
      );
    if (name === undefined || found.has(name)) return;
    found.add(name);
    const { dependencies = [], optionalDependencies = [] } = lock.npm[name] ??
      {};
    for (const each of [...dependencies, ...optionalDependencies]) add(each);
  };
  for (const { npmPackage } of graph.modules) {
    if (npmPackage !== undefined) add(npmPackage);
  }
  return found;
}

/** `registry/name/version` of a package in the cache. */
function folderOf(id: string): string {
  const [, name = "", version = ""] = /^(@?[^@]+)@([^_]+)/.exec(id) ?? [];
  return join(name, version);
}

Deno.test("deno run main.ts needs no package of the tests in its cache", async () => {
  const { npmCache } = await readJson<{ npmCache: string }>(
    deno(["info", "--json"]),
  );
  const packages = await packagesOfProduct();
  const cache = await Deno.makeTempDir();
  try {
    for await (const { name: registry } of Deno.readDir(npmCache)) {
      for (const id of packages) {
        const folder = folderOf(id);
        const source = join(npmCache, registry, folder);
        const target = join(cache, "npm", registry, folder);
        await Deno.mkdir(target, { recursive: true });
        // Deno finds no package behind a link.
        await copyFolder(source, target);
        // Only some packages have it: the lock file has what Deno needs of the others.
        const metadata = join(dirname(source), "registry.json");
        await Deno.copyFile(metadata, join(dirname(target), "registry.json"))
          .catch(ignoreMissing);
      }
    }

    const output = await deno(
      ["run", "-A", "--cached-only", "main.ts", "version"],
      cache,
    );

    assert.match(output, /^gateway \d/);
    // Sixty of them are those of the clouds, which are loaded with the first token.
    assert(packages.size < 150, `${packages.size} packages`);
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
});

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

async function copyFolder(source: string, target: string): Promise<void> {
  const { code } = await new Deno.Command("cp", {
    args: ["-R", `${source}/.`, target],
  }).output();
  assert.equal(code, 0, source);
}
