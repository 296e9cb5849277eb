import { main } from "./cli/main.ts";

if (import.meta.main) {
  // It would move every `Deno.serve` of the process, the admin server among them, to one address.
  Deno.env.delete("DENO_SERVE_ADDRESS");
  Deno.exit(await main(Deno.args));
}
