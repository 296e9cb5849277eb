// A gateway that samples memory allocations between one SIGUSR2 and the next. Arguments: its port and the port of the upstream.
import { HeapSampling } from "../../src/telemetry/profiles/heap_profile.ts";
import { run } from "../../cli/run/run.ts";

const [port, upstreamPort] = Deno.args;
const file = await Deno.makeTempFile({ suffix: ".json" });
await Deno.writeTextFile(
  file,
  JSON.stringify({
    config: {
      adminAddr: "off",
      statsAddr: "off",
      accessLog: { enabled: false },
      logging: { level: "warn" },
    },
    gateways: { default: { port: Number(port) } },
    routes: [{
      name: "plain",
      backends: [{ host: `127.0.0.1:${upstreamPort}` }],
    }],
  }),
);
let sampling: HeapSampling | undefined;
Deno.addSignalListener("SIGUSR2", () => {
  if (sampling === undefined) {
    sampling = new HeapSampling("main");
  } else {
    void sampling[Symbol.asyncDispose]();
    sampling = undefined;
  }
});
Deno.exit(await run(file));
