import { isAdminToken } from "../../src/api/admin_token.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { describeError } from "../../src/base/errors.ts";
import { describeReadError } from "../../src/base/regular_file.ts";
import { type Answer, send } from "./admin_connection.ts";
import { Failure } from "../process/exit.ts";

/** Which admin interface to talk to. */
export interface AdminAddress {
  /** On this machine. */
  readonly port?: number;
  /** `host:port` or `unix:<path>`. */
  readonly admin?: string;
  /** File with the token that it asks for; without, `GATEWAY_ADMIN_TOKEN` of the environment. */
  readonly tokenFile?: string;
}

/** The admin interface answered, but not with what was asked for. */
export class Refusal extends Failure {
  constructor(readonly status: number, readonly body: string, name: string) {
    const hint = status === 401
      ? "\nGive the token with --token-file <path> or in GATEWAY_ADMIN_TOKEN"
      : "";
    super(
      `The gateway at ${name} answered ${status}: ${body.trimEnd()}${hint}`,
    );
  }
}

/** An answer that goes on; disposing it hangs up. */
export interface AdminStream extends Disposable {
  readonly body: ReadableStream<Uint8Array>;
}

/** What to ask, and what the answer has to be. */
export interface AdminQuestion {
  readonly method?: "GET" | "POST";
  readonly pathAndQuery: string;
  /** Such as `text/plain`. */
  readonly type: string;
  /** How much longer than others it may take. */
  readonly extraMs?: number;
  /** Ends it early. */
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 4096;

/**
 * The JSON at a path of the admin interface.
 * @param field One that the gateway's answer always has; `length` of a list.
 * @throws {Failure} When it cannot be reached, or is not that of a gateway.
 * @throws {Refusal} When it refuses.
 * @throws {UsageError} When the address cannot be read.
 */
export async function readAdmin(
  address: AdminAddress,
  pathAndQuery: string,
  field: string,
): Promise<unknown> {
  const question = { pathAndQuery, type: "application/json" };
  const text = new TextDecoder().decode(await askAdmin(address, question));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw stranger(nameOf(address), describeError(error));
  }
  const isKnown = typeof json === "object" && json !== null &&
    Object.hasOwn(json, field);
  if (isKnown) return json;
  throw stranger(nameOf(address), `it has no "${field}"`);
}

/**
 * The bytes of an answer of the admin interface.
 * @throws {Failure | Refusal | UsageError} As `readAdmin`.
 */
export async function askAdmin(
  address: AdminAddress,
  question: AdminQuestion,
  clock: Clock = systemClock,
): Promise<Uint8Array> {
  const name = nameOf(address);
  using answer = await open(address, question, clock);
  const bytes = await read(answer.response, MAX_ANSWER_BYTES, name);
  if (bytes.length <= MAX_ANSWER_BYTES) return bytes;
  throw stranger(name, "it has more than 64 MiB");
}

/**
 * The answer to a GET as it comes; only its head has a time limit.
 * @throws {Failure | Refusal | UsageError} As `readAdmin`.
 */
export async function streamAdmin(
  address: AdminAddress,
  pathAndQuery: string,
): Promise<AdminStream> {
  const question = { pathAndQuery, type: "text/event-stream" };
  const answer = await open(address, question, systemClock);
  answer.goOn();
  const { body } = answer.response;
  if (body === null) throw stranger(nameOf(address), "it is empty");
  return { body, [Symbol.dispose]: () => answer[Symbol.dispose]() };
}

/** What answered is no gateway, for the reason that is given. */
export function stranger(name: string, reason: string): Failure {
  return new Failure(
    `Cannot use the answer of ${name}: ${reason}
Is that the admin interface of a gateway? Choose another with -p <port> or --admin <address>`,
  );
}

/** How messages call the address. */
export function nameOf({ admin, port }: AdminAddress): string {
  return admin ?? `localhost:${port ?? 15000}`;
}

async function open(
  address: AdminAddress,
  { method = "GET", pathAndQuery, type, extraMs = 0, signal }: AdminQuestion,
  clock: Clock,
): Promise<Answer> {
  const name = nameOf(address);
  const token = await parseToken(address);
  const request = {
    method,
    pathAndQuery,
    token,
    timeoutMs: TIMEOUT_MS + extraMs,
    signal,
  };
  const answer = await send(name, request, clock);
  const { ok, status, headers } = answer.response;
  const [got = ""] = headers.get("content-type")?.split(";") ?? [];
  if (ok && got === type) return answer;
  using _ = answer;
  if (ok || got !== "text/plain") {
    const found = got === "" ? `${status}` : `${status} with ${got}`;
    throw stranger(name, `expected ${type}, got ${found}`);
  }
  const body = await read(answer.response, MAX_REFUSAL_BYTES, name);
  const text = new TextDecoder().decode(body.subarray(0, MAX_REFUSAL_BYTES));
  throw new Refusal(status, text, name);
}

/** The body, or as much of it as shows that it is longer than `maxBytes`. */
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
    throw new Failure(`Lost the answer of ${name}: ${describeError(error)}`);
  }
  return await new Blob(chunks).bytes();
}

/** @throws {Failure} When what should be a token is none. */
async function parseToken(
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
