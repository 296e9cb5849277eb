import assert from "node:assert/strict";

Deno.test("make e2e runs tests that start the gateway, themselves or through helpers, and none that run in one process", async () => {
  const script = new URL("../../../.ci/e2e_files.ts", import.meta.url).href;

  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script],
  }).output();

  const listed = new TextDecoder().decode(stdout).split("\n");
  const names = ["packaging", "cli", "soak", "trace_tui", "reload", "traffic"];
  assert.deepEqual(
    names.filter((name) =>
      listed.some((path) => path.endsWith(`/${name}_test.ts`))
    ),
    ["packaging", "cli", "soak", "trace_tui"],
  );
});
