import { describeError } from "../../src/base/errors.ts";
import { type AdminAddress, readAdmin } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { Failure, UsageError } from "../process/exit.ts";
import { readInput } from "../process/read_input.ts";
import { listOf, textOf } from "../output/json_fields.ts";
import { printAs } from "../output/print_as.ts";
import { tableOf } from "../output/table.ts";

/** Source of a dump and output format. */
export interface ShowConfigOptions extends AdminAddress {
  /** A saved dump; `-` is standard input. */
  readonly file?: string;
  readonly local?: boolean;
  readonly output: "yaml" | "json" | "short";
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
    : parseDump(await readInput(file), file);
  await (output === "short"
    ? print(summarizeDump(dump))
    : printAs(output, dump));
}

/** Returns a line for each part of a configuration. */
function summarizeDump(dump: unknown): string {
  const row = (kind: string, item: unknown, about: string) => [
    kind,
    textOf(item, "key") || textOf(item, "name"),
    about,
  ];
  return tableOf([
    ["KIND", "NAME", "ABOUT"],
    ...listOf(dump, "listeners").map((item) =>
      row(
        "listener",
        item,
        `${textOf(item, "protocol")} ${textOf(item, "port")} ${
          textOf(item, "hostname")
        }`,
      )
    ),
    ...listOf(dump, "routes").map((item) =>
      row("route", item, textsIn(item, "backends", "backend") || "no backends")
    ),
    ...listOf(dump, "backends").map((item) =>
      row("backend", item, textOf(item, "target"))
    ),
    ...listOf(dump, "policies").map((item) =>
      row("policy", item, textsIn(item, "targetRefs", "name"))
    ),
  ]);
}

function textsIn(item: unknown, list: string, field: string): string {
  return listOf(item, list).map((each) => textOf(each, field)).join(", ");
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
