import assert from "node:assert/strict";
import { root } from "../../../rules/repository.ts";

Deno.test("the modules of the page pass the type checker", async () => {
  const page = new URL("admin/ui/page/", root).pathname;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--quiet", "--config", "deno.json", "main.tsx"],
    cwd: page,
    env: { NO_COLOR: "1" },
  }).output();

  assert(success, new TextDecoder().decode(stderr));
});
