import config from "../../deno.json" with { type: "json" };

const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
/** The gateway, its workers, the converter of OpenAPI documents, and the page of the web UI, which is bundled into them. */
const programs = [
  "main.ts",
  "worker.ts",
  "converter.ts",
  "admin/ui/page/main.tsx",
];

/** The part of the output of `deno info --json` that is used. */
interface Graph {
  readonly modules: readonly { readonly npmPackage?: string }[];
  readonly npmPackages: Readonly<Record<string, NpmPackage>>;
}

interface NpmPackage {
  readonly name: string;
  readonly version: string;
  readonly dependencies: readonly string[];
  readonly localPath: string;
}

interface Component {
  readonly type: "application" | "library";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly unknown[];
  readonly hashes?: readonly { alg: string; content: string }[];
}

/** Lists the packages inside the executable, with licenses and hashes, as a bill of materials in CycloneDX 1.6. */
export async function createSbom(created: Date): Promise<unknown> {
  const packages = new Map<string, NpmPackage>();
  for (const program of programs) collect(await readGraph(program), packages);
  const integrity = await readIntegrity();
  const libraries = [...packages].toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([key, found]) => describe(found, integrity.get(key)));
  const gateway = application("gateway", config.version, config.license);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { timestamp: created.toISOString(), component: gateway },
    components: [
      application("deno", Deno.version.deno, "MIT"),
      ...await Promise.all(libraries),
    ],
  };
}

async function readGraph(program: string): Promise<Graph> {
  // The licenses are in the packages, which must be there.
  await deno("cache", "--quiet", program);
  return JSON.parse(await deno("info", "--json", program));
}

async function deno(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
  }).output();
  if (!success) {
    throw new Error(
      `Cannot run "deno ${args.join(" ")}": ${
        new TextDecoder().decode(stderr)
      }`,
    );
  }
  return new TextDecoder().decode(stdout);
}

/** Adds the packages that modules of the graph import, and what those depend on. */
function collect(graph: Graph, packages: Map<string, NpmPackage>): void {
  const waiting = graph.modules.flatMap(({ npmPackage }) => npmPackage ?? []);
  for (const key of waiting) {
    const found = graph.npmPackages[key];
    if (found === undefined || packages.has(key)) continue;
    packages.set(key, found);
    waiting.push(...found.dependencies);
  }
}

/** Returns the hash of each package, such as `sha512-…`. */
async function readIntegrity(): Promise<Map<string, string>> {
  const lock: { npm: Record<string, { integrity: string }> } = JSON.parse(
    await Deno.readTextFile(`${root}deno.lock`),
  );
  return new Map(
    Object.entries(lock.npm).map(([key, entry]) => [key, entry.integrity]),
  );
}

async function describe(
  { name, version, localPath }: NpmPackage,
  integrity: string | undefined,
): Promise<Component> {
  const manifest = JSON.parse(
    await Deno.readTextFile(`${localPath}/package.json`),
  );
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const hash = integrity?.match(/^sha512-(.*)$/)?.[1];
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    ...licenses(manifest.license),
    ...(hash && { hashes: [{ alg: "SHA-512", content: toHex(hash) }] }),
  };
}

function toHex(base64: string): string {
  return Uint8Array.fromBase64(base64).toHex();
}

function licenses(license: unknown): Pick<Component, "licenses"> {
  return typeof license === "string"
    ? { licenses: [{ expression: license }] }
    : {};
}

function application(
  name: string,
  version: string,
  license: string,
): Component {
  const purl = `pkg:generic/${name}@${version}`;
  return {
    type: "application",
    "bom-ref": purl,
    name,
    version,
    purl,
    ...licenses(license),
  };
}
