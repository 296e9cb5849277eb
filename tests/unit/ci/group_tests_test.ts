import assert from "node:assert/strict";
import { root } from "../../rules/repository.ts";

const files = [
  "tests/unit/route/route_table_test.ts",
  "tests/unit/llm/usage/usage_test.ts",
  "tests/unit/llm/prices_test.ts",
  "tests/fuzz/http_parser_test.ts",
];

Deno.test("test files are grouped by their folder, and each is imported once", async () => {
  const folder = await Deno.makeTempDir();

  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", new URL(".ci/group_tests.ts", root).href, folder],
      ...files,
    ],
  }).output();

  const printed = new TextDecoder().decode(stdout).trim().split("\n");
  const imports = Object.fromEntries(printed.map((path) => [
    path,
    Deno.readTextFileSync(path).trim().split("\n"),
  ]));
  const importOf = (at: number) =>
    `import "${new URL(files[at] ?? "", root)}"; // ${files[at]}`;
  assert.deepEqual(imports, {
    [`${folder}/tests_unit_route_test.ts`]: [importOf(0)],
    [`${folder}/tests_unit_llm_test.ts`]: [importOf(1), importOf(2)],
    [`${folder}/tests_fuzz_test.ts`]: [importOf(3)],
  });
  await Deno.remove(folder, { recursive: true });
});
