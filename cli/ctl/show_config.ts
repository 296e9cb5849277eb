import { describeError } from "../../src/base/errors.ts";
import { describeReadError } from "../../src/base/regular_file.ts";
import { type AdminAddress, readAdmin } from "../client/admin_client.ts";
import { Failure, UsageError } from "../process/exit.ts";
import { printAs } from "./print_as.ts";

/** Source of a dump and output format. */
export interface ShowConfigOptions extends AdminAddress {
  /** A saved dump; `-` is standard input. */
  readonly file?: string;
  readonly local?: boolean;
  readonly output: "yaml" | "json";
}

/** Prints a configuration dump from a running gateway or a file. */
export async function showConfig(options: ShowConfigOptions): Promise<void> {
  const { file, output } = options;
  if (
    file !== undefined &&
    (options.port ?? options.admin ?? options.local) !== undefined
  ) {
    throw new UsageError(
      '"--file" cannot be used together with "--local", "-p" or "--admin"',
    );
  }
  const dump = file === undefined
    ? await readAdmin(options, "/config_dump", "version")
    : parseDump(await readDump(file), file);
  await printAs(output, dump);
}

async function readDump(file: string): Promise<string> {
  try {
    return file === "-"
      ? await new Response(Deno.stdin.readable).text()
      : await Deno.readTextFile(file);
  } catch (error) {
    throw new Failure(`Cannot read "${file}": ${describeReadError(error)}`);
  }
}

function parseDump(text: string, name: string): object {
  try {
    const dump: unknown = JSON.parse(text);
    if (typeof dump === "object" && dump !== null && !Array.isArray(dump)) {
      return dump;
    }
  } catch (error) {
    throw new Failure(
      `Cannot read "${name}": not the JSON of /config_dump: ${
        describeError(error)
      }`,
    );
  }
  throw new Failure(
    `Cannot read "${name}": expected the JSON object of /config_dump`,
  );
}
