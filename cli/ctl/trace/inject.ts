import { Failure } from "../../process/exit.ts";
import { parseCurlArgs } from "./curl_arguments.ts";
import { sendRequest } from "./plain_client.ts";
import { SOURCE_PORT_COUNT } from "./source_ports.ts";

/** A request to be sent to a listener on this machine. */
export interface Injection {
  /** Names the host and the scheme; the socket goes elsewhere. */
  readonly url: string;
  /** As the user wrote them. */
  readonly curlArgs: readonly string[];
  /** On 127.0.0.1. */
  readonly port: number;
  /** The request comes from one of `sourcePortCount` ports that begin here. */
  readonly firstSourcePort: number;
}

/** Sends a request, whose answer is discarded; resolves when it is over, with what there is to say to the user about it. */
export type Send = (abort: AbortSignal) => Promise<string>;

/**
 * Prepares the request, for curl when it is on the `PATH` and may be started, else for our own client.
 * @throws {UsageError} For arguments that our own client does not know.
 */
export async function prepareInjection(injection: Injection): Promise<Send> {
  if (await hasCurl()) return (abort) => runCurl(injection, abort);
  const request = await parseCurlArgs(injection.url, injection.curlArgs);
  return (abort) => sendRequest(request, injection, abort);
}

async function hasCurl(): Promise<boolean> {
  try {
    const { success } = await new Deno.Command("curl", {
      args: ["--version"],
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch (error) {
    // The executable may start no curl but the system's.
    const { NotFound, NotCapable } = Deno.errors;
    if (error instanceof NotFound || error instanceof NotCapable) return false;
    throw error;
  }
}

/** @throws {Failure} With what curl said. */
async function runCurl(
  { url, curlArgs, port, firstSourcePort }: Injection,
  signal: AbortSignal,
): Promise<string> {
  const lastSourcePort = firstSourcePort + SOURCE_PORT_COUNT - 1;
  const { success, code, stderr } = await new Deno.Command("curl", {
    args: [
      // Neither the user's settings nor a proxy of the environment may change the request.
      ...["--disable", "--noproxy", "*", "--silent", "--show-error"],
      ...["--connect-to", `::127.0.0.1:${port}`],
      ...["--local-port", `${firstSourcePort}-${lastSourcePort}`],
      url,
      ...curlArgs,
    ],
    // For `-d @-`; a terminal is for the keys.
    stdin: Deno.stdin.isTerminal() ? "null" : "inherit",
    stdout: "null",
    stderr: "piped",
    signal,
  }).output();
  const text = new TextDecoder().decode(stderr);
  if (success || signal.aborted) return text;
  throw new Failure(
    `Cannot send the request: curl ended with ${code}: ${text.trim()}`,
  );
}
