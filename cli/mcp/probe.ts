import { describeError } from "../../src/base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../src/base/json.ts";

/** Response of a server that is examined. */
export interface Probe {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  /** At most 256 KiB of the body. */
  readonly text: string;
  /** The body as a JSON object; `undefined` when it is none. */
  readonly json: JsonObject | undefined;
}

/** A server that could not be reached, or did not respond in time. */
export class ProbeError extends Error {
  override readonly name = "ProbeError";
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 256 * 1024;

/** Version of MCP that the examination speaks. */
export const PROTOCOL_VERSION = "2025-11-25";

/** Limits for reading an event stream. */
export interface ProbeOptions {
  /** Returns whether the events so far suffice; by default, the first event does. */
  readonly isComplete?: (events: string) => boolean;
  /** 10 seconds by default. */
  readonly timeoutMs?: number;
}

/** Sends one request without following redirects. @throws {ProbeError} */
export async function probe(
  url: string,
  init: RequestInit = {},
  { isComplete = hasEvent, timeoutMs = TIMEOUT_MS }: ProbeOptions = {},
): Promise<Probe> {
  try {
    const response = await fetch(url, {
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      ...init,
    });
    const text = await readStart(response, isComplete);
    const value = parseJson(text);
    return {
      url,
      status: response.status,
      headers: response.headers,
      text,
      json: isJsonObject(value) ? value : undefined,
    };
  } catch (error) {
    throw new ProbeError(reasonOf(error, timeoutMs), { cause: error });
  }
}

/** Reads an event stream, which may never end, until it is complete or until the limit. */
async function readStart(
  response: Response,
  isComplete: (events: string) => boolean,
): Promise<string> {
  const isStream = response.headers.get("content-type")
    ?.startsWith("text/event-stream");
  const reader = response.body?.pipeThrough(new TextDecoderStream())
    .getReader();
  let text = "";
  while (reader !== undefined) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
    if (text.length > MAX_BYTES || (isStream && isComplete(text))) {
      await reader.cancel();
      break;
    }
  }
  return text;
}

function hasEvent(events: string): boolean {
  return /\n\r?\n/.test(events);
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return `no response within ${timeoutMs / 1000} seconds`;
  }
  return describeError(error)
    .replace(
      /^(?:fetch failed: )?error sending request for url \([^)]*\): /,
      "",
    );
}

/** Creates the first request of an MCP client. */
export function initializeRequest(): RequestInit {
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: PROTOCOL_VERSION,
        capabilities: {},
        clientInfo: { name: "gwctl mcp doctor", version: "1" },
      },
    }),
  };
}

/** Describes a response: `status 404, text/html`. */
export function describeProbe({ status, headers, json }: Probe): string {
  const type = headers.get("content-type")?.split(";", 1)[0];
  const error = json?.["error"];
  return [
    `status ${status}`,
    ...(type === undefined ? [] : [type]),
    ...(typeof error === "string" ? [`error "${error.slice(0, 60)}"`] : []),
  ].join(", ");
}
