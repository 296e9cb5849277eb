import { isAdminToken } from "../../src/api/admin_token.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { describeError } from "../../src/base/errors.ts";
import { describeReadError } from "../../src/base/regular_file.ts";
import {
  type AdminResponse,
  send,
  UnreachableError,
} from "./admin_connection.ts";
import { portHint } from "./port_hint.ts";
import { Failure } from "../process/exit.ts";

/** Address of an admin interface. */
export interface AdminAddress {
  /** Port on this machine. */
  readonly port?: number | undefined;
  /** `host:port` or `unix:<path>`. */
  readonly admin?: string | undefined;
  /** File with the admin token; default: environment variable `GATEWAY_ADMIN_TOKEN`. */
  readonly tokenFile?: string | undefined;
}

/** The admin interface returned an error. */
export class AdminError extends Failure {
  /** @param hint Lines on what is at this address instead. */
  constructor(
    readonly status: number,
    readonly body: string,
    name: string,
    readonly hint = "",
  ) {
    const advice = status === 401
      ? "\nProvide the token with --token-file <path> or in GATEWAY_ADMIN_TOKEN"
      : hint;
    super(
      `The gateway at ${name} returned ${status}: ${body.trimEnd()}${advice}`,
    );
  }
}

/** A streamed response; disposing it disconnects. */
export interface AdminStream extends Disposable {
  readonly body: ReadableStream<Uint8Array>;
}

/** A request and the expected response. */
export interface AdminQuery {
  readonly method?: "GET" | "POST";
  readonly pathAndQuery: string;
  /** Body of a POST as JSON. */
  readonly body?: unknown;
  /** Expected content type, such as `text/plain`. */
  readonly type: string;
  /** Time to add to the default time limit. */
  readonly extraMs?: number;
  /** Aborts the request. */
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 4096;

/**
 * Reads JSON from the admin interface.
 * @param field A field that the gateway's response always has; `length` for a list.
 * @throws {Failure} When it is unreachable, or not the admin interface of a gateway.
 * @throws {AdminError} When it returns an error.
 * @throws {UsageError} When the address is invalid.
 */
export async function readAdmin(
  address: AdminAddress,
  pathAndQuery: string,
  field: string,
): Promise<unknown> {
  return await requestJson(address, { pathAndQuery }, field);
}

/**
 * Requests JSON from the admin interface.
 * @throws {Failure | AdminError | UsageError} See `readAdmin`.
 */
export async function requestJson(
  address: AdminAddress,
  query: Omit<AdminQuery, "type">,
  field: string,
): Promise<unknown> {
  const bytes = await requestAdmin(address, {
    ...query,
    type: "application/json",
  });
  const text = new TextDecoder().decode(bytes);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw unexpectedResponse(nameOf(address), describeError(error));
  }
  const isExpected = typeof json === "object" && json !== null &&
    Object.hasOwn(json, field);
  if (isExpected) return json;
  throw unexpectedResponse(nameOf(address), `it has no "${field}"`);
}

/**
 * Returns the bytes of a response of the admin interface.
 * @throws {Failure | AdminError | UsageError} See `readAdmin`.
 */
export async function requestAdmin(
  address: AdminAddress,
  query: AdminQuery,
  clock: Clock = systemClock,
): Promise<Uint8Array> {
  const name = nameOf(address);
  using result = await open(address, query, clock);
  const bytes = await read(result.response, MAX_RESPONSE_BYTES, name);
  if (bytes.length <= MAX_RESPONSE_BYTES) return bytes;
  throw unexpectedResponse(name, "it has more than 64 MiB");
}

/**
 * Streams the response to a GET; only its head has a time limit.
 * @throws {Failure | AdminError | UsageError} See `readAdmin`.
 */
export async function streamAdmin(
  address: AdminAddress,
  pathAndQuery: string,
): Promise<AdminStream> {
  const query = { pathAndQuery, type: "text/event-stream" };
  const result = await open(address, query, systemClock);
  result.liftTimeout();
  const { body } = result.response;
  if (body === null) throw unexpectedResponse(nameOf(address), "it is empty");
  return { body, [Symbol.dispose]: () => result[Symbol.dispose]() };
}

/** Creates the error for a response that is not one of a gateway. */
export function unexpectedResponse(
  name: string,
  reason: string,
  hint = "",
): Failure {
  return new Failure(
    `Unexpected response of ${name}: ${reason}
Is it the admin interface of a gateway? Select another one with -p <port> or --admin <address>${hint}`,
  );
}

/** Formats the address for messages. */
export function nameOf({ admin, port }: AdminAddress): string {
  return admin ?? `localhost:${port ?? 15000}`;
}

async function open(
  address: AdminAddress,
  { method = "GET", pathAndQuery, body, type, extraMs = 0, signal }: AdminQuery,
  clock: Clock,
): Promise<AdminResponse> {
  const name = nameOf(address);
  const token = await readToken(address);
  const request = {
    method,
    pathAndQuery,
    body,
    token,
    timeoutMs: TIMEOUT_MS + extraMs,
    signal,
  };
  const result = await send(name, request, clock).catch(async (error) => {
    if (!(error instanceof UnreachableError) || error.isTimeout) throw error;
    throw new UnreachableError(error.message + await portHint(name));
  });
  const { ok, status, headers } = result.response;
  const [got = ""] = headers.get("content-type")?.split(";") ?? [];
  if (ok && got === type) return result;
  using _ = result;
  if (ok || got !== "text/plain") {
    const found = got === "" ? `${status}` : `${status} with ${got}`;
    const reason = `expected ${type}, got ${found}`;
    throw unexpectedResponse(name, reason, await portHint(name));
  }
  const bytes = await read(result.response, MAX_ERROR_BYTES, name);
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_ERROR_BYTES));
  const hint = status === 404 ? await portHint(name) : "";
  throw new AdminError(status, text, name, hint);
}

/** Reads a body; stops once it exceeds `maxBytes`. */
async function read(
  { body }: Response,
  maxBytes: number,
  name: string,
): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    for await (const chunk of body ?? []) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) break;
    }
  } catch (error) {
    throw new Failure(
      `Lost the connection to ${name}: ${describeError(error)}`,
    );
  }
  return await new Blob(chunks).bytes();
}

/** Reads the token. @throws {Failure} When it is invalid. */
async function readToken(
  { tokenFile }: AdminAddress,
): Promise<string | undefined> {
  const token = tokenFile === undefined
    ? Deno.env.get("GATEWAY_ADMIN_TOKEN") || undefined
    : await readTokenFile(tokenFile);
  if (token === undefined || isAdminToken(token)) return token;
  const source = tokenFile === undefined
    ? "GATEWAY_ADMIN_TOKEN"
    : `"${tokenFile}"`;
  throw new Failure(
    `Cannot use the token in ${source}: expected one line of at least 16 characters: letters, digits, - . _ ~ + / and = at the end`,
  );
}

async function readTokenFile(tokenFile: string): Promise<string> {
  try {
    return (await Deno.readTextFile(tokenFile)).trim();
  } catch (error) {
    const reason = describeReadError(error);
    throw new Failure(`Cannot read the token in "${tokenFile}": ${reason}`);
  }
}
