import assert from "node:assert/strict";
import {
  findCycles,
  findOffences,
  findUnwrappedPackages,
  type ImportTable,
  packagesOf,
  readClosure,
  readEdges,
  readImportTable,
} from "./import_graph.ts";
import { productFiles, readFile } from "./repository.ts";

const { local, packages } = await readEdges();

const table: ImportTable = {
  ...readImportTable(await readFile("src/README.md")),
  "admin": [
    "src/base",
    "src/api",
    "src/telemetry",
    "src/dataplane",
    "src/config",
    "src/gateway",
  ],
  "admin/ui/responses.ts": [
    "admin",
    "src/api",
    "src/telemetry",
    "src/dataplane",
    "src/gateway",
    "src/policy/cel",
  ],
  "admin/ui/playground": [
    "admin",
    "src/base",
    "src/dataplane",
    "src/policy/cel",
  ],
  "admin/ui/page/pages/configuration/language.ts": [
    "admin",
    "src/policy/cel",
  ],
  "admin/ui/page_from_source.ts": [
    "admin",
    "deno.json",
    "src/config",
    "src/gateway",
  ],
  "cli": [
    "src/base",
    "src/api",
    "src/config",
    "src/telemetry",
    "src/gateway",
  ],
  "cli/schema/print_schema.ts": [
    "cli",
    "src/base",
    "src/config",
    "src/cluster",
    "src/gateway",
  ],
  "cli/cluster": [
    "cli",
    "src/base",
    "src/api",
    "src/config",
    "src/cluster",
    "src/gateway",
  ],
  "cli/run/serve.ts": [
    "cli",
    "admin",
    "src/base",
    "src/config",
    "src/telemetry",
    "src/gateway",
  ],
  "cli/dev": ["src/base", "admin/ui/page_files.ts"],
  "main.ts": ["cli"],
  "worker.ts": ["src/dataplane"],
  "converter.ts": ["src/mcp"],
  "mod.ts": ["src"],
};

Deno.test("every file imports only what the import table allows", () => {
  assert.deepEqual(findOffences(local, table), []);
});

Deno.test("no files import each other in a cycle, type imports included", () => {
  assert.deepEqual(findCycles(local), []);
});

Deno.test("no two folders import each other", () => {
  const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/"));
  const pairs = new Set(
    local.map(({ from, to }) => `${folderOf(from)} ${folderOf(to)}`),
  );
  const isMutual = (pair: string) => {
    const [from = "", to = ""] = pair.split(" ");
    return from < to && pairs.has(`${to} ${from}`);
  };

  assert(pairs.has("admin/ui/page/app admin/ui/page/pages/limits"));
  assert(pairs.has("src/compile src/compile/memory"));
  assert.deepEqual([...pairs].filter(isMutual), []);
});

Deno.test("the contract of policies names no kind of policy", () => {
  const contract = "src/policy/contract/";
  const imported = local.filter(({ from, to }) =>
    from.startsWith(contract) && to.startsWith("src/policy/") &&
    !to.startsWith(contract)
  );

  assert(local.some(({ from }) => from.startsWith(contract)));
  assert.deepEqual(imported, []);
});

Deno.test("the memory of compilations imports no other part of compile", () => {
  const imported = local.filter(({ from, to }) =>
    from.startsWith("src/compile/memory/") && to.startsWith("src/compile/") &&
    !to.startsWith("src/compile/memory/")
  );

  assert.deepEqual(imported, []);
});

/** Reports whether an import is that which the compiler adds to every module with elements. */
function isOfJsx(from: string, to: string): boolean {
  return from.endsWith(".tsx") && to === "preact";
}

Deno.test("every package is imported by only one file", () => {
  // The playground imitates real servers, and uses their packages as they do.
  const own = packages.filter(({ from, to }) =>
    !from.startsWith("cli/dev/") && !isOfJsx(from, to)
  );

  assert.deepEqual(findUnwrappedPackages(own), []);
});

Deno.test("the start of a gateway without expressions, tokens and passwords loads only three packages", async () => {
  assert.deepEqual(packagesOf(await readClosure("main.ts", "cli/run/run.ts")), [
    "commander",
    "valibot",
    "yaml",
  ]);
});

Deno.test("a running gateway loads neither the playground nor what commands need", async () => {
  const onDemand =
    /^(?:cli\/(?:cluster|ctl|dev|import|mcp|schema|tui)|admin\/ui\/playground\/(?!playground_api)|src\/(?:policy\/cel|cluster))\//;

  const loaded = await readClosure("main.ts", "cli/run/run.ts");

  assert.deepEqual(loaded.filter((path) => onDemand.test(path)), []);
});

Deno.test("a command that asks a running gateway loads commander only", async () => {
  const loaded = await readClosure("main.ts", "cli/ctl/views.ts");

  assert.deepEqual(packagesOf(loaded), ["commander"]);
  assert(!loaded.includes("cli/run/serve.ts"));
});

Deno.test("the import table has a row for every folder of src", async () => {
  const folders = (await productFiles()).map((path) =>
    /^src\/[^/]+/.exec(path)?.[0]
  ).filter((path) => path !== undefined);

  assert.deepEqual(
    [...new Set(folders)].filter((folder) => !(folder in table)),
    [],
  );
});

Deno.test("findOffences names the import that is not allowed", () => {
  const table = readImportTable([
    "| `base/` | clock | – |",
    "| `api/` | model | base |",
    "| `proxy/` | pipeline | all of the above |",
    "| `gateway.ts` | start | everything in `src/` |",
  ].join("\n"));
  const edges = [
    { from: "src/base/clock.ts", to: "src/base/errors.ts" },
    { from: "src/base/clock.ts", to: "src/api/schema/schema.ts" },
    { from: "src/proxy/pipeline.ts", to: "src/api/schema/schema.ts" },
    { from: "src/proxy/pipeline.ts", to: "cli/main.ts" },
    { from: "src/gateway.ts", to: "src/proxy/pipeline.ts" },
    { from: "src/other/file.ts", to: "src/base/clock.ts" },
  ];

  assert.deepEqual(findOffences(edges, table), [
    "src/base/clock.ts must not import src/api/schema/schema.ts: src/base may import nothing",
    "src/proxy/pipeline.ts must not import cli/main.ts: src/proxy may import src/base, src/api",
    "src/other/file.ts is in no folder of the import table",
  ]);
});

Deno.test("findCycles names the files of each cycle", () => {
  const edges = [
    { from: "a.ts", to: "b.ts" },
    { from: "b.ts", to: "c.ts" },
    { from: "c.ts", to: "a.ts" },
    { from: "c.ts", to: "d.ts" },
    { from: "d.ts", to: "e.ts" },
    { from: "a.ts", to: "e.ts" },
    { from: "f.ts", to: "g.ts" },
    { from: "g.ts", to: "f.ts" },
  ];

  assert.deepEqual(findCycles(edges), [
    ["a.ts", "b.ts", "c.ts"],
    ["f.ts", "g.ts"],
  ]);
});

Deno.test("findUnwrappedPackages names every file that imports the package", () => {
  const edges = [
    { from: "src/config/yaml/yaml.ts", to: "yaml" },
    { from: "src/config/yaml/yaml.ts", to: "yaml" },
    { from: "src/api/schema/schema.ts", to: "valibot" },
    { from: "src/config/load.ts", to: "valibot" },
  ];

  assert.deepEqual(findUnwrappedPackages(edges), [
    "valibot must be wrapped by one file, is imported by src/api/schema/schema.ts, src/config/load.ts",
  ]);
});

Deno.test("readEdges finds local modules and packages", () => {
  assert(
    local.some(({ from, to }) =>
      from.startsWith("src/api/") && to === "src/api/schema/schema.ts"
    ),
  );
  assert(packages.some(({ to }) => to === "valibot"));
});
