import { Argument, type Call, type Command, formatOption } from "./command.ts";
import type {
  ResourceKind,
  ShowResourcesOptions,
} from "../cluster/show_resources.ts";
import { withClusterOptions } from "./admin_options.ts";

const kinds: readonly ResourceKind[] = ["gateways", "routes", "policies"];

/** Adds `get` and `status`. */
export function addResourceCommands(program: Command, call: Call): void {
  const add = (name: string) =>
    withClusterOptions(program.command(name))
      .option("-A, --all-namespaces", "resources of all namespaces")
      .addOption(formatOption("table", "yaml", "json"));
  add("get")
    .description("Show resources of a cluster with their conditions")
    .addArgument(
      new Argument("[kinds...]", "what to show").choices(kinds).default(kinds),
    )
    .action(
      async (
        selected: readonly ResourceKind[],
        options: ShowResourcesOptions,
      ) => {
        const { showResources } = await import("../cluster/show_resources.ts");
        await showResources(options, selected);
      },
    );
  add("status")
    .description("Show what is wrong with resources of a cluster, and why")
    .action(async (options: ShowResourcesOptions) => {
      const { showProblems } = await import("../cluster/show_resources.ts");
      call.finish(await showProblems(options));
    });
}
