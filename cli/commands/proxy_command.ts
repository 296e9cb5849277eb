import type { GatewayTarget } from "../cluster/for_proxies.ts";
import { type Command, formatOption } from "./command.ts";

/** Loads the work of a command, which may return an exit code. */
export type Load<Options> = () => Promise<
  (options: Options) => Promise<number | void>
>;

/** Options of a command about proxies. */
export interface ProxyCommandOptions {
  /** Of several proxies of a gateway in a cluster, works on the first one only. */
  readonly first?: boolean;
  /** Receives the highest exit code. */
  readonly finish?: (exitCode: number) => void;
  /** Output formats, the default first; default table, YAML and JSON. */
  readonly formats?: readonly [string, ...string[]] | undefined;
}

/** Sets the work of a command, done for each proxy that its options select. */
export function worksOnProxies<Options extends GatewayTarget>(
  command: Command,
  load: Load<Options>,
  { first = false, finish }: ProxyCommandOptions = {},
): Command {
  return command.action(
    async (gateway: string | undefined, options: Options) => {
      const { forProxies } = await import("../cluster/for_proxies.ts");
      const codes = await forProxies(options, gateway, await load(), { first });
      finish?.(Math.max(...codes.map((code) => code ?? 0)));
    },
  );
}

/** Sets the work of a command that prints a table, YAML or JSON. */
export function printsTables<Options extends GatewayTarget>(
  command: Command,
  load: Load<Options>,
  options: ProxyCommandOptions = {},
): Command {
  const { formats = ["table", "yaml", "json"] } = options;
  return worksOnProxies(
    command.addOption(formatOption(...formats)),
    load,
    options,
  );
}
