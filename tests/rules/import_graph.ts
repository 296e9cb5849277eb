/** The imports between modules, and the rules for them. */
import { productFiles, root } from "./repository.ts";

/** An import, type imports included: paths relative to the repository, or the name of a package. */
export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** Folders or files, each with those that it may import: `{ "src/api": ["src/base"] }`. */
export type ImportTable = Readonly<Record<string, readonly string[]>>;

/** Reads every import of `src/`, `admin/`, `cli/`, `main.ts` and `mod.ts`, as Deno resolves it. */
export async function readEdges(): Promise<
  { local: Edge[]; packages: Edge[] }
> {
  const edges = { local: [] as Edge[], packages: [] as Edge[] };
  for (const module of await describeModules()) {
    const from = relative(module.specifier);
    if (from === undefined) continue;
    for (const { specifier, code, type } of module.dependencies ?? []) {
      const target = code?.specifier ?? type?.specifier ?? specifier;
      const to = relative(target);
      if (to !== undefined) edges.local.push({ from, to });
      else if (target.startsWith("npm:")) {
        edges.packages.push({ from, to: packageOf(target) });
      }
    }
  }
  return edges;
}

/** Lists what loads together with these modules: files, and specifiers of packages; dynamic imports do not count. */
export async function readClosure(
  ...paths: readonly string[]
): Promise<string[]> {
  const modules = new Map(
    (await describeModules()).map((module) => [module.specifier, module]),
  );
  const loaded = new Set(paths.map((path) => new URL(path, root).href));
  for (const specifier of loaded) {
    for (
      const { code, isDynamic } of modules.get(specifier)?.dependencies ?? []
    ) {
      if (code?.specifier !== undefined && !isDynamic) {
        loaded.add(code.specifier);
      }
    }
  }
  return [...loaded].map((specifier) => relative(specifier) ?? specifier);
}

/** Lists the packages of a closure by their names. */
export function packagesOf(closure: readonly string[]): string[] {
  const names = closure.filter((each) => each.startsWith("npm:"));
  return [...new Set(names.map(packageOf))].sort();
}

interface Module {
  readonly specifier: string;
  readonly dependencies?: {
    specifier: string;
    isDynamic?: boolean;
    code?: { specifier?: string };
    type?: { specifier?: string };
  }[];
}

async function describeModules(): Promise<Module[]> {
  const everything = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    const files = await productFiles();
    await Deno.writeTextFile(
      everything,
      files.map((path) => `import "${new URL(path, root)}";\n`).join(""),
    );
    const args = [
      "info",
      "--json",
      "--config",
      new URL("deno.json", root).pathname,
      everything,
    ];
    const { success, stdout, stderr } = await new Deno.Command(
      Deno.execPath(),
      { args },
    ).output();
    if (!success) {
      throw new Error(
        `Cannot read the module graph: ${new TextDecoder().decode(stderr)}`,
      );
    }
    return JSON.parse(new TextDecoder().decode(stdout)).modules;
  } finally {
    await Deno.remove(everything);
  }
}

function relative(specifier: string): string | undefined {
  return specifier.startsWith(root.href)
    ? specifier.slice(root.href.length)
    : undefined;
}

/** `npm:/@scope/name@1.2.3/path` → `@scope/name`. */
function packageOf(specifier: string): string {
  return /^npm:\/?((?:@[^/]+\/)?[^@/]+)/.exec(specifier)?.[1] ?? specifier;
}

/**
 * Reads the table "Folders" of `src/README.md`. The last column of a row lists the folders that it may import: `–` for none,
 * `all of the above`, or `everything in …`.
 */
export function readImportTable(markdown: string): ImportTable {
  const table: Record<string, readonly string[]> = {};
  for (
    const [, name = "", , listed = ""] of markdown.matchAll(
      /^\| `([a-z_.]+)\/?` *\|([^|]*)\|([^|]*)\|$/gm,
    )
  ) {
    const above = Object.keys(table);
    if (listed.includes("all of the above")) table[`src/${name}`] = above;
    else if (listed.includes("everything")) table[`src/${name}`] = ["src"];
    else {table[`src/${name}`] = [...listed.matchAll(/[a-z]+/g)].map(([room]) =>
        `src/${room}`
      );}
  }
  return table;
}

/** Describes the edges that no row allows. A file belongs to the longest room that contains it. */
export function findOffences(
  edges: readonly Edge[],
  table: ImportTable,
): string[] {
  const rooms = Object.keys(table).sort((a, b) => b.length - a.length);
  const offences = edges.flatMap(({ from, to }) => {
    const room = rooms.find((room) => isWithin(from, room));
    if (room === undefined) {
      return [`${from} is in no folder of the import table`];
    }
    const allowed = [room, ...table[room] ?? []];
    if (allowed.some((other) => isWithin(to, other))) return [];
    return [
      `${from} must not import ${to}: ${room} may import ${
        allowed.slice(1).join(", ") || "nothing"
      }`,
    ];
  });
  return [...new Set(offences)];
}

function isWithin(path: string, room: string): boolean {
  return path === room || path.startsWith(`${room}/`);
}

/** Describes the packages that more than one file imports. */
export function findUnwrappedPackages(edges: readonly Edge[]): string[] {
  const importers = Map.groupBy(edges, ({ to }) => to);
  return [...importers].flatMap(([name, found]) => {
    const files = [...new Set(found.map(({ from }) => from))];
    return files.length > 1
      ? [
        `${name} must be wrapped by one file, is imported by ${
          files.join(", ")
        }`,
      ]
      : [];
  });
}

/**
 * Finds import cycles: the strongly connected components of more than one file, each as its sorted paths.
 * Source: R. Tarjan, "Depth-First Search and Linear Graph Algorithms" (1972).
 */
export function findCycles(edges: readonly Edge[]): string[][] {
  const imports = Map.groupBy(edges, ({ from }) => from);
  const order = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];

  /** Returns the earliest file on the stack that `file` leads back to. */
  function visit(file: string): number {
    const own = order.size;
    let earliest = own;
    order.set(file, own);
    stack.push(file);
    for (const { to } of imports.get(file) ?? []) {
      const known = order.get(to);
      if (known === undefined) earliest = Math.min(earliest, visit(to));
      else if (stack.includes(to)) earliest = Math.min(earliest, known);
    }
    if (earliest < own) return earliest;
    const component = stack.splice(stack.indexOf(file));
    if (component.length > 1) cycles.push(component.sort());
    return earliest;
  }

  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return cycles;
}
