import assert from "node:assert/strict";
import { delimiter, dirname } from "node:path";
import { readFile, repositoryFiles, root } from "../../rules/repository.ts";

/** One recipe of CONTRIBUTING.md, as far as a program can follow it. */
interface Recipe {
  readonly title: string;
  readonly edits: readonly Edit[];
  /** Targets of the Makefile after `Run`. */
  readonly targets: readonly string[];
  /** Files of tests after `test it with`. */
  readonly tests: readonly string[];
}

interface Edit {
  readonly file: string;
  /** The line at which the text is added, or a part of it; `undefined` writes a new file. */
  readonly anchor: string | undefined;
  readonly isAfter: boolean;
  readonly text: string;
}

/** "Write `file`", "At the top of `file`", or "In `file`, before `line`", each followed by a block. */
const instruction =
  /(?:Write\s+`(?<written>[^`]+)`[^\n]*?(?:\n(?!```)[^\n]*)*?|At the top of\s+`(?<top>[^`]+)`:\s*|[Ii]n\s+`(?<file>[^`]+)`,\s+(?<place>before|after)\s+(?<ticks>`+) ?(?<anchor>[^\n]+?) ?\k<ticks>:\s*)\n```\w+\n(?<text>.*?)^```$/gms;

function readRecipes(document: string): readonly Recipe[] {
  const [, ...parts] = document.split("\n## Releases")[0]?.split(
    "\n## Recipe: ",
  ) ?? [];
  return parts.map((part) => {
    const prose = part.replaceAll(/^```.*?^```$/gms, "");
    const runs = prose.match(/Run `make [^.:]*/g) ?? [];
    return {
      title: part.split("\n", 1)[0] ?? "",
      edits: [...part.matchAll(instruction)].map(({ groups = {} }) => ({
        file: groups["written"] ?? groups["top"] ?? groups["file"] ?? "",
        anchor: groups["anchor"] ?? (groups["top"] && ""),
        isAfter: groups["place"] === "after",
        text: groups["text"] ?? "",
      })),
      targets: runs.flatMap((run) => [...run.matchAll(/`make (\w+)`/g)])
        .map(([, target = ""]) => target),
      tests: [...prose.matchAll(/[Tt]est\s+it\s+with\s+`([^`]+)`/g)]
        .flatMap(([, files = ""]) => files.split(/\s+/)),
    };
  });
}

/** Adds the text of an edit to the file in `folder`. */
async function apply(folder: string, edit: Edit): Promise<void> {
  const { file, anchor, isAfter, text } = edit;
  const path = `${folder}/${file}`;
  if (anchor === undefined) return await Deno.writeTextFile(path, text);
  const lines = (await Deno.readTextFile(path)).split("\n");
  const find = (isIt: (line: string) => boolean) =>
    lines.flatMap((line, index) => isIt(line) ? [index] : []);
  // A line that begins with it is meant before one that has it elsewhere.
  const begins = find((line) => line.trimStart().startsWith(anchor));
  const found = begins.length > 0
    ? begins
    : find((line) => line.includes(anchor));
  const [at = 0] = found;
  assert(
    anchor === "" || found.length === 1,
    `${file} has ${found.length} lines with ${anchor}`,
  );
  lines.splice(isAfter ? at + 1 : at, 0, text.replace(/\n$/, ""));
  await Deno.writeTextFile(path, lines.join("\n"));
}

async function copyRepository(): Promise<string> {
  const folder = await Deno.makeTempDir();
  for (const file of await repositoryFiles()) {
    const copy = `${folder}/${file}`;
    await Deno.mkdir(dirname(copy), { recursive: true });
    // In the copy, it would make another copy.
    if (file.endsWith("/recipes_test.ts")) await Deno.writeTextFile(copy, "");
    else await Deno.copyFile(new URL(encodeURI(file), root), copy);
  }
  return folder;
}

async function run(folder: string, command: string, ...args: string[]) {
  const path = `${dirname(Deno.execPath())}${delimiter}${Deno.env.get("PATH")}`;
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args,
    cwd: folder,
    env: { NO_COLOR: "1", PATH: path },
  }).output();
  const [out, problems] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes).slice(-8000)
  );
  assert(success, `${command} ${args.join(" ")}\n${out}\n${problems}`);
}

Deno.test("whoever follows the recipes of CONTRIBUTING.md word for word passes make check and the tests that they name", async () => {
  const recipes = readRecipes(await readFile("CONTRIBUTING.md"));
  const folder = await copyRepository();
  for (const { edits } of recipes) {
    for (const edit of edits) await apply(folder, edit);
  }
  const targets = new Set(recipes.flatMap((recipe) => recipe.targets));
  // Formatting has to be last: recipes do not indent.
  for (const target of [...targets].sort().reverse()) {
    await run(folder, "make", target);
  }
  const deno = (...args: string[]) => run(folder, Deno.execPath(), ...args);
  // All of `make check`, but for files that no recipe changes: format and lint regard each file alone.
  const edited = new Set(
    recipes.flatMap(({ edits }) => edits.map(({ file }) => file)),
  );
  await deno("fmt", "--check", ...edited);
  await deno("lint", ...edited.values().filter((file) => /\.tsx?$/.test(file)));
  await deno("doc", "--lint", "mod.ts");
  await deno("task", "types");
  await deno("task", "rules");
  const tests = new Set(recipes.flatMap(({ tests }) => tests));
  await deno("test", "-A", "--no-check", ...tests);
  await Deno.remove(folder, { recursive: true });

  const followed = recipes.filter(({ edits }) => edits.length > 0);
  assert.deepEqual(followed.map(({ title }) => title), [
    "a policy",
    "an LLM API",
    "an LLM provider",
    "a metric",
    "a call of the data plane",
    "an admin endpoint",
  ]);
});
