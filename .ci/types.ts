/**
 * Checks the types of the repository and of the programs in its documents. One run of `deno check`, as each reads and checks the source
 * of the gateway. Options of `deno check` may follow.
 */
import { writeDocumentedPrograms } from "../tests/rules/documented_programs.ts";

const repository = [
  ...["main.ts", "worker.ts", "converter.ts", "mod.ts"],
  ...[".ci", "examples", "tests"],
];

await using programs = await writeDocumentedPrograms();
const { code } = await new Deno.Command(Deno.execPath(), {
  args: [
    ...["check", "--config=deno.json", ...Deno.args],
    ...[...repository, ...programs.files],
  ],
  cwd: new URL("../", import.meta.url),
}).spawn().status;
Deno.exitCode = code;
