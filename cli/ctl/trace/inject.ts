import { Failure } from "../../process/exit.ts";
import { parseCurlArgs } from "./curl_arguments.ts";
import { sendRequest } from "./plain_client.ts";
import { SOURCE_PORT_COUNT } from "./source_ports.ts";

/** A request to send to a listener on this machine. */
export interface Injection {
  /** Provides host and scheme; the connection goes to `port`. */
  readonly url: string;
  /** The user's arguments. */
  readonly curlArgs: readonly string[];
  /** Port on 127.0.0.1. */
  readonly port: number;
  /** First of `SOURCE_PORT_COUNT` source ports. */
  readonly firstSourcePort: number;
}

/** Sends a request and discards the response; resolves with a message for the user. */
export type Send = (abort: AbortSignal) => Promise<string>;

/**
 * Prepares the request, for curl if it is on the `PATH`, else for the built-in client.
 * @throws {UsageError} For arguments that the built-in client does not support.
 */
export async function prepareInjection(injection: Injection): Promise<Send> {
  if (await hasCurl()) return (abort) => runCurl(injection, abort);
  const request = await parseCurlArgs(injection.url, injection.curlArgs);
  return (abort) => sendRequest(request, injection, abort);
}

/** Reports whether there is a curl on the `PATH`. */
async function hasCurl(): Promise<boolean> {
  try {
    const { success } = await new Deno.Command("curl", {
      args: ["--version"],
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch (error) {
    const { NotFound, NotCapable } = Deno.errors;
    if (error instanceof NotFound || error instanceof NotCapable) return false;
    throw error;
  }
}

/** Runs curl. @throws {Failure} With curl's message. */
async function runCurl(
  { url, curlArgs, port, firstSourcePort }: Injection,
  signal: AbortSignal,
): Promise<string> {
  const lastSourcePort = firstSourcePort + SOURCE_PORT_COUNT - 1;
  const { success, code, stderr } = await new Deno.Command("curl", {
    args: [
      // Neither the user's settings nor a configured proxy may change the request.
      ...["--disable", "--noproxy", "*", "--silent", "--show-error"],
      ...["--connect-to", `::127.0.0.1:${port}`],
      ...["--local-port", `${firstSourcePort}-${lastSourcePort}`],
      url,
      ...curlArgs,
    ],
    // For `-d @-`; a terminal is reserved for the terminal UI.
    stdin: Deno.stdin.isTerminal() ? "null" : "inherit",
    stdout: "null",
    stderr: "piped",
    signal,
  }).output();
  const text = new TextDecoder().decode(stderr);
  if (success || signal.aborted) return text;
  throw new Failure(
    `Cannot send the request: curl exited with ${code}: ${text.trim()}`,
  );
}
