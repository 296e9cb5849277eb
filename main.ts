// The program is its own worker: in the executable it is one file.
if (import.meta.url.endsWith("#worker")) {
  const { runWorker } = await import("./src/dataplane/workers/worker_main.ts");
  runWorker();
} else if (import.meta.main) {
  const { main } = await import("./cli/main.ts");
  // It would move every `Deno.serve` of the process, the admin server among them, to one address.
  Deno.env.delete("DENO_SERVE_ADDRESS");
  Deno.exit(await main(Deno.args));
}
