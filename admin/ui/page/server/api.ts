/** Sends requests to the gateway. All URLs are relative, so that the page works under any prefix. */
import type { TraceEvent } from "../../../../src/telemetry/trace/trace_event.ts";
import type { UiResponses } from "../../responses.ts";
import { type Access, promptForToken } from "./token_prompt.ts";

const TOKEN_KEY = "gateway-admin-token";
const TIMEOUT_MS = 10_000;
const NO_RESPONSE = "The gateway does not respond";

/** An unsuccessful response; `status` is 0 without a response. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Options of a request; `body` is sent as JSON, or as plain text if it is a string. */
export interface RequestOptions {
  readonly method?: "GET" | "POST";
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** JSON of the endpoint of a path, such as `usage?by=key`. */
export type ResponseOf<Path extends string> = Path extends
  `${infer Endpoint}?${string}` ? ResponseOf<Endpoint>
  : Path extends keyof UiResponses ? UiResponses[Path]
  : Path extends `requests/${string}` ? UiResponses["requests/*"]
  : Path extends `access/change/${string}` ? UiResponses["access/change/*"]
  : Path extends `profiles/${string}` ? UiResponses["profiles/*"]
  : never;

/** Returns the JSON of `GET api/path`. @throws {ApiError} */
export async function getJson<Path extends string>(
  path: Path,
  signal?: AbortSignal,
): Promise<ResponseOf<Path>> {
  return decode(await getText(path, signal));
}

/** Returns the JSON of `GET api/path`, however long it takes. @throws {ApiError} */
export async function getSlowJson<Path extends string>(
  path: Path,
  signal: AbortSignal,
): Promise<ResponseOf<Path>> {
  return decode(await (await request(path, { signal })).text());
}

/** Returns the text of `GET api/path`. @throws {ApiError} */
export async function getText(
  path: string,
  signal?: AbortSignal,
): Promise<string> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
  try {
    return (await (await request(path, { signal: either })).text()).trim();
  } catch (error) {
    if (timeout.aborted && !signal?.aborted) throw new ApiError(0, NO_RESPONSE);
    throw error;
  }
}

/** Posts without a body; returns the response as text. @throws {ApiError} */
export async function post(path: string): Promise<string> {
  const response = await request(path, { method: "POST" });
  return (await response.text()).trim();
}

/** Posts a body; returns the JSON of the response. @throws {ApiError} */
export async function postJson<Path extends string>(
  path: Path,
  body: unknown,
  signal?: AbortSignal,
): Promise<ResponseOf<Path>> {
  const response = await request(path, { method: "POST", body, signal });
  return decode(await response.text());
}

/** Decodes a response. The page comes from the server that sends it, so both have the types of one version. */
function decode<T>(text: string): T {
  return JSON.parse(text);
}

/**
 * Returns a successful response. Prompts for the token when the admin interface requires one, and retries.
 * @throws {ApiError}
 */
export async function request(
  path: string,
  options: RequestOptions = {},
): Promise<Response> {
  for (let problem = "";;) {
    const response = await send(path, options);
    if (response.ok) return response;
    const access = requiredAccess(response);
    if (access === undefined) {
      // The other lines describe the endpoint to users of curl.
      const [text] = (await response.text()).trim().split("\n");
      throw new ApiError(response.status, text || `status ${response.status}`);
    }
    await response.body?.cancel();
    if (sessionStorage.getItem(TOKEN_KEY) !== null) problem = "Invalid token.";
    // It would be sent in place of a login.
    sessionStorage.removeItem(TOKEN_KEY);
    sessionStorage.setItem(TOKEN_KEY, await promptForToken(problem, access));
  }
}

async function send(
  path: string,
  { method = "GET", body, signal }: RequestOptions,
): Promise<Response> {
  const token = sessionStorage.getItem(TOKEN_KEY);
  const headers = new Headers();
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  const init: RequestInit = { method, headers, signal: signal ?? null };
  if (typeof body === "string") init.body = body;
  else if (body !== undefined) {
    headers.set("content-type", "application/json");
    init.body = JSON.stringify(body);
  }
  try {
    return await fetch(`api/${path}`, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, NO_RESPONSE);
  }
}

/** Returns how to get in, if the admin interface requires that, as opposed to a policy of a gateway. */
function requiredAccess({ status, headers }: Response): Access | undefined {
  const challenge = headers.get("www-authenticate") ?? "";
  const [, scheme] =
    /^(bearer|cookie) realm="gateway admin"/i.exec(challenge) ??
      [];
  if (status !== 401 || scheme === undefined) return undefined;
  return {
    hasToken: scheme.toLowerCase() === "bearer",
    login: /login="([\w/]+)"/.exec(challenge)?.[1],
  };
}

/** Yields the events of the requests that `query` selects; calls `onReady` when the server is ready. @throws {ApiError} */
export async function* traceEvents(
  query: URLSearchParams,
  options: { readonly signal: AbortSignal; readonly onReady?: () => void },
): AsyncGenerator<TraceEvent> {
  const { body } = await request(`trace?${query}`, { signal: options.signal });
  for await (const block of blocksOf(partsOf(body))) {
    if (block === ": ready") options.onReady?.();
    if (block.startsWith("data: ")) yield decode(block.slice(6));
  }
}

/** Yields a body as text as it comes, and cancels it when nobody wants more. */
export async function* partsOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
): AsyncGenerator<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

/** Yields the blocks of a stream of events; one without an end is left out. */
export async function* blocksOf(
  parts: AsyncIterable<string>,
): AsyncGenerator<string> {
  let rest = "";
  for await (const part of parts) {
    const blocks = (rest + part).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    yield* blocks;
  }
}

/** Returns the message of an error for the user. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
