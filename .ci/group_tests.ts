/**
 * Groups test files by their folder, for `.ci/run`: writes a module for each group that imports its files, and prints the paths of
 * the modules. The files of a group share one instance of the gateway's modules, which take longer to load and to become fast than
 * most tests take to run. Usage: `group_tests.ts FOLDER FILE...`
 */
const root = new URL("../", import.meta.url);
const [folder, ...files] = Deno.args;

/** Returns `tests/unit/policy` for files of this folder and of those in it. */
function groupOf(file: string): string {
  return file.split("/").slice(0, -1).slice(0, 3).join("/");
}

for (const [group, members = []] of Map.groupBy(files, groupOf)) {
  const path = `${folder}/${group.replaceAll("/", "_")}_test.ts`;
  const lines = members.map((file) =>
    `import "${new URL(file, root)}"; // ${file}\n`
  );
  Deno.writeTextFileSync(path, lines.join(""));
  // deno-lint-ignore no-console -- prints its result
  console.log(path);
}
