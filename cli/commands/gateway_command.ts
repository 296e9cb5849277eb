import { nearest } from "../../src/api/schema/suggest.ts";
import {
  type Call,
  type Command,
  Option,
  parsePort,
  rejectCommand,
} from "./command.ts";
import type { ClusterRunOptions } from "../cluster/run_cluster.ts";
import { addControlCommands } from "./control_commands.ts";
import * as help from "./help.ts";
import { devAddresses } from "../run/dev_addresses.ts";
import { addRunCommands, fileOption } from "./run_commands.ts";

interface RunOptions extends ClusterRunOptions {
  readonly validateOnly?: boolean;
  readonly strict?: boolean;
  readonly cluster?: boolean;
}

/** Default of `--controller-name`. */
const CONTROLLER_NAME = "gateway.internal/controller";

/** Adds the gateway's options and commands to `program`. */
export function addGatewayCommands(program: Command, call: Call): void {
  program
    .description(help.GATEWAY)
    .usage("-f FILE|DIR|-\n       gateway <command>")
    .addOption(fileOption())
    .option("--validate-only", "check the configuration and exit")
    .option("--strict", "with --validate-only: warnings are errors");
  addClusterOptions(program)
    .addHelpText("after", help.GATEWAY_EXAMPLES)
    .action(async (options: RunOptions) => {
      const [unknown] = program.args;
      if (unknown !== undefined) {
        rejectCommand(program, unknown, suggestionFor(program, unknown));
      }
      if (options.cluster === true) {
        const { runCluster } = await import("../cluster/run_cluster.ts");
        call.finish(await runCluster(options));
        return;
      }
      if (options.file === undefined) program.help({ error: true });
      if (options.strict && !options.validateOnly) {
        program.error("error: --strict requires --validate-only");
      }
      const { run, validate } = await import("../run/run.ts");
      call.finish(
        options.validateOnly === true
          ? await validate(options.file, options)
          : await run(options.file),
      );
    });
  addDevCommand(program, call);
  addRunCommands(program, call);
  addVersionCommand(program);
  addSchemaCommand(program);
  const control = program.command("ctl").description(help.CONTROL);
  addControlCommands(
    control.addHelpText("after", help.examplesOf("control", "gateway ctl")),
    "gateway ctl",
    call,
  );
}

function addClusterOptions(program: Command): Command {
  return program
    .option("--cluster", "configure from the resources of a Kubernetes cluster")
    .option(
      "--kubeconfig <path>",
      "with --cluster: credentials (default: KUBECONFIG, then the service account)",
    )
    .option(
      "--controller-name <name>",
      "with --cluster: spec.controllerName of the GatewayClasses to serve",
      CONTROLLER_NAME,
    )
    .option(
      "--watch-namespaces <names...>",
      "with --cluster: namespaces to watch (default: all)",
    )
    .option(
      "--address-pool <cidr>",
      "with --cluster: give each Gateway an address of this range",
    )
    .option(
      "--publish-address <ip...>",
      "with --cluster: addresses in the status of Gateways without their own",
    )
    .option(
      "--publish-service <namespace/name>",
      "with --cluster: Service whose addresses they have",
    )
    .option(
      "--gateway <namespace/name>",
      "with --cluster: serve this Gateway only, and write no status",
    )
    .option(
      "--cluster-snapshot <file>",
      "with --cluster: keep what was read, Secrets too, for a start while the API server is away",
    )
    .option(
      "--managed",
      "with --cluster: run proxies for each Gateway, and serve no request",
    )
    .option("--proxy-image <image>", "with --managed: image of the proxies")
    .option(
      "--controller-address <host:port>",
      "with --managed: name and port at which proxies reach this process; with --gateway: the controller to read from",
    )
    .option(
      "--controller-access <folder>",
      "with --gateway: folder with the token for the controller, and its ca.crt",
    );
}

/** Adds `version`. */
export function addVersionCommand(program: Command): void {
  program.command("version")
    .description("Print the version")
    .option("--json", "print JSON, including runtime versions")
    .action(async ({ json }: { json?: boolean }) => {
      const { printVersion } = await import("../run/print_version.ts");
      await printVersion(json === true);
    });
}

function addDevCommand(program: Command, call: Call): void {
  program.command("dev")
    .description(help.DEV)
    .addHelpText("after", help.DEV_EXAMPLES)
    .addOption(
      new Option("--port <port>", "port of the gateway").default(
        devAddresses.port,
      )
        .argParser(parsePort),
    )
    .option(
      "--admin <address>",
      "address of the admin interface",
      devAddresses.admin,
    )
    .option(
      "--stats <address>",
      "address of metrics and health",
      devAddresses.stats,
    )
    .action(async (options: { port: number; admin: string; stats: string }) => {
      const { runPlayground } = await import("../run/dev_command.ts");
      call.finish(await runPlayground(options));
    });
}

function addSchemaCommand(program: Command): void {
  program.command("schema")
    .description("Print the JSON Schema of the configuration file")
    .option("--markdown", "print a reference of all fields in Markdown")
    .option("--crds", "print the CustomResourceDefinitions for Kubernetes")
    .addHelpText("after", help.SCHEMA_EXAMPLES)
    .action(
      async ({ markdown, crds }: { markdown?: boolean; crds?: boolean }) => {
        const printing = await import("../schema/print_schema.ts");
        if (crds === true) await printing.printResourceDefinitions();
        else await printing.printSchema(markdown === true);
      },
    );
}

function suggestionFor(program: Command, word: string): string | undefined {
  if (/[./]/.test(word)) return `gateway -f ${word}`;
  const names = ["help", ...program.commands.map((command) => command.name())];
  return nearest(word, names);
}
