import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };
import { root } from "./repository.ts";

/** Runs a program and returns its output. @throws {Error} If it exits with another code than 0. */
async function run(
  cwd: string | URL,
  program: string,
  ...args: string[]
): Promise<string> {
  const command = new Deno.Command(program, {
    args,
    cwd,
    clearEnv: true,
    env: {
      ...withoutGit(Deno.env.toObject()),
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_SYSTEM: "/dev/null",
    },
  });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Git sets variables for its hooks, which would lead to another repository. */
function withoutGit(
  environment: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith("GIT_")),
  );
}

Deno.test("the changelog has release notes for the current version", async () => {
  assert.match(
    await run(root, "sh", ".ci/release_notes", config.version),
    /^### Added$/m,
  );
  await assert.rejects(
    run(root, "sh", ".ci/release_notes", "0.0.0"),
    /Cannot find a section "## 0\.0\.0" in CHANGELOG\.md/,
  );
});

Deno.test("the hook formats staged files, and keeps changes that are not staged out of the commit", async () => {
  const folder = await Deno.makeTempDir();
  const git = (...args: string[]) =>
    run(
      folder,
      "git",
      ...["-c", "user.name=test", "-c", "user.email=test@example.com"],
      ...["-c", "core.hooksPath=.githooks"],
      ...args,
    );
  await git("init", "--quiet");
  for (const path of [".ci/deno", ".githooks/pre-commit"]) {
    await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]*$/, ""));
    await Deno.copyFile(new URL(path, root), `${folder}/${path}`);
  }
  await Deno.writeTextFile(`${folder}/unformatted.ts`, "let   a=1");
  await git("add", "unformatted.ts");

  await git("commit", "--quiet", "-m", "formatted by the hook");
  const committed = await git("show", "HEAD:unformatted.ts");
  await Deno.writeTextFile(`${folder}/partly.ts`, "let   a=1");
  await git("add", "partly.ts");
  await Deno.writeTextFile(`${folder}/partly.ts`, "let   a=2");
  const partly = git("commit", "--quiet", "-m", "rejected by the hook");

  assert.equal(committed, "let a = 1;\n");
  await assert.rejects(partly, /partly\.ts: not formatted, and has changes/);
  await Deno.remove(folder, { recursive: true });
});
