import {
  type AdminAddress,
  AdminError,
  readAdmin,
} from "../client/admin_client.ts";
import { Failure } from "../process/exit.ts";
import { print } from "../output/output.ts";
import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { printAs } from "../output/print_as.ts";
import { decodeEvent } from "./trace/decode_event.ts";
import { textLine } from "./trace/text.ts";

/** Address and output format. */
export interface ExplainOptions extends AdminAddress {
  readonly output: "text" | "json";
}

/**
 * Prints why a request failed; without an id, lists recent failed requests.
 * @param id Value of `x-request-id`.
 */
export async function explain(
  { output, ...address }: ExplainOptions,
  id: string | undefined,
): Promise<void> {
  const known = id === undefined
    ? await readAdmin(address, "/debug/requests?limit=20", "length")
    : await readAdmin(
      address,
      `/debug/requests/${encodeURIComponent(id)}`,
      "cause",
    ).catch(simplify);
  if (output === "json") return await printAs(output, known);
  const lines = !Array.isArray(known)
    ? reportLines(known)
    : known.length === 0
    ? [await noFailures(address)]
    : listLines(known);
  await print(lines.map((line) => line + "\n").join(""));
}

function simplify(error: unknown): never {
  if (error instanceof AdminError && error.status === 404) {
    throw new Failure(`Cannot explain: ${error.body.trim()}`);
  }
  throw error;
}

/** Failures are in memory, so a restart forgets them. */
async function noFailures(address: AdminAddress): Promise<string> {
  const known = await readAdmin(address, "/requests?limit=0", "requests");
  const since = timeOf(textOf(known, "recordedSince"));
  return `No recent failures: they are recorded in memory, since the gateway started at ${since}`;
}

/** Formats a time as `14:03 on Thu Nov 26 2026`, in the time zone of the terminal. */
function timeOf(text: string): string {
  const date = new Date(text);
  return `${date.toTimeString().slice(0, 5)} on ${date.toDateString()}`;
}

function listLines(failures: readonly unknown[]): readonly string[] {
  return failures.flatMap((failure) => [
    `${textOf(failure, "id")}  ${headline(failure)}`,
    `    ${textOf(failure, "cause")}`,
  ]);
}

function reportLines(report: unknown): readonly string[] {
  const failing = fieldOf(report, "failing");
  return [
    headline(report),
    textOf(report, "cause"),
    "",
    ...mcpLines(report),
    ...((failing ?? null) === null
      ? []
      : [`at      ${textOf(failing, "kind")} ${textOf(failing, "name")}`]),
    `fix     ${textOf(report, "advice")}`,
    "",
    ...listOf(report, "events").flatMap(eventLines),
  ];
}

function mcpLines(report: unknown): readonly string[] {
  const server = textOf(report, "mcpServer");
  const tool = textOf(report, "mcpTool");
  return server === "" ? [] : [
    `mcp     server ${server}${tool === "" ? "" : `, tool ${tool}`}`,
  ];
}

/** Formats `403 GET api.example.com/mcp at 2026-01-01T00:00:00.000Z`. */
function headline(failure: unknown): string {
  const target = ["method", "host"].map((name) => textOf(failure, name)).join(
    " ",
  );
  return `${textOf(failure, "status")} ${target}${textOf(failure, "path")} at ${
    textOf(failure, "time")
  }`;
}

function eventLines(event: unknown): readonly string[] {
  const decoded = decodeEvent(JSON.stringify(event));
  return decoded === undefined ? [] : [textLine(decoded)];
}
