import { systemClock } from "../../src/base/clock.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../src/base/json.ts";
import { print, printError } from "../output/output.ts";
import { printable, printableJson } from "../output/printable.ts";
import { Failure, UsageError } from "../process/exit.ts";
import { readServerUrl } from "./doctor.ts";
import { examine } from "./examine.ts";
import { LoginError, refreshTokens } from "./log_in.ts";
import { LoginCache } from "./login_cache.ts";
import { McpError, McpSession } from "./mcp_session.ts";
import { openBrowser } from "./open_browser.ts";
import { ProbeError } from "./probe.ts";

/** Options of `gwctl mcp tools` and `gwctl mcp call`. */
export interface ToolOptions {
  readonly json?: boolean;
  readonly clientId?: string;
  /** Name of the environment variable with an API key. */
  readonly apiKeyEnv?: string;
}

/** Lists the tools that the user may call. @throws {Failure} */
export async function listTools(
  address: string,
  { json = false, ...options }: ToolOptions,
): Promise<void> {
  const { tools, missing } = await withSession(
    readServerUrl(address),
    options,
    async (session) => ({
      tools: await session.listTools(),
      missing: session.missingServers,
    }),
  );
  await print(
    json
      ? printableJson(JSON.stringify(tools, null, 2)) + "\n"
      : tools.map(lineOf).join(""),
  );
  for (const each of missing) {
    await printError(`MCP server missing: ${printable(each)}\n`);
  }
}

/**
 * Calls a tool and prints its result as JSON.
 * @param argument JSON object with the arguments of the tool, such as `{"text":"hi"}`.
 * @throws {Failure | UsageError}
 */
export async function callTool(
  address: string,
  name: string,
  argument: string | undefined,
  options: ToolOptions,
): Promise<void> {
  const parsed = parseJson(argument ?? "{}");
  if (!isJsonObject(parsed)) {
    throw new UsageError(
      'Cannot read the arguments: expected a JSON object such as {"text":"hi"}',
    );
  }
  const result = await withSession(
    readServerUrl(address),
    options,
    (session) => session.request("tools/call", { name, arguments: parsed }),
  );
  await print(printableJson(JSON.stringify(result, null, 2)) + "\n");
  if (result["isError"] === true) {
    throw new Failure(`Tool "${name}" reports an error`);
  }
}

/** Opens a session with an API key, the cached login, a refreshed or a new one, or without a token if the server needs none. */
async function withSession<T>(
  url: string,
  { clientId, apiKeyEnv }: ToolOptions,
  action: (session: McpSession) => Promise<T>,
): Promise<T> {
  try {
    const session = apiKeyEnv === undefined
      ? await openWithLogin(url, clientId)
      : await McpSession.open(url, readApiKey(apiKeyEnv));
    const result = await action(session);
    await session.close();
    return result;
  } catch (error) {
    if (error instanceof McpError || error instanceof ProbeError) {
      throw new Failure(`Cannot use ${url}: ${error.message}`);
    }
    throw error;
  }
}

/** @throws {UsageError} */
function readApiKey(name: string): string {
  const key = Deno.env.get(name)?.trim();
  if (key !== undefined && key !== "") return key;
  throw new UsageError(`Environment variable "${name}" is not set`);
}

/** Opens a session; a token of the cache that the server rejects, such as a revoked one, is replaced once. */
async function openWithLogin(
  url: string,
  clientId: string | undefined,
): Promise<McpSession> {
  const cached = (await new LoginCache().get(url))?.tokens.accessToken;
  const token = await findToken(url, clientId);
  try {
    return await McpSession.open(url, token);
  } catch (error) {
    const isStale = error instanceof McpError && error.status === 401 &&
      token !== undefined && token === cached;
    if (!isStale) throw error;
    return await McpSession.open(url, await findToken(url, clientId, token));
  }
}

/** @param rejected Access token that the server does not accept, whenever it expires. */
async function findToken(
  url: string,
  clientId: string | undefined,
  rejected?: string,
): Promise<string | undefined> {
  const cache = new LoginCache();
  const cached = await cache.get(url);
  if (cached !== undefined) {
    const { login, tokens: { accessToken, refreshToken, expiresAt } } = cached;
    const isCurrent = (expiresAt ?? 0) > systemClock.now() + 30_000;
    if (isCurrent && accessToken !== rejected) return accessToken;
    const fresh = refreshToken === undefined
      ? undefined
      : await refreshTokens(login, refreshToken).catch(onlyLoginErrors);
    if (fresh !== undefined) {
      await cache.set(url, { login, tokens: fresh });
      return fresh.accessToken;
    }
  }
  const { login, findings } = await examine(url, { clientId, openBrowser });
  if (login !== undefined) {
    await cache.set(url, login);
    return login.tokens.accessToken;
  }
  const isOpen = findings.some(({ id }) => id === "not-protected");
  if (isOpen) return undefined;
  const problem = findings.find(({ verdict }) => verdict === "error");
  if (problem?.fix !== undefined && withoutLogin.has(problem.id)) {
    throw new Failure(`Cannot use ${url}: ${problem.seen}. ${problem.fix}`);
  }
  throw new Failure(
    `Cannot log in at ${url}: expected "${problem?.rule}", got ${problem?.seen}; send an API key with --api-key-env <name>, or run "gwctl mcp doctor ${url}"`,
  );
}

/** Findings about addresses at which there is nothing to log in to. */
const withoutLogin: ReadonlySet<string> = new Set([
  "unreachable",
  "server-error",
  "no-mcp-endpoint",
]);

/** Ignores login errors of a refresh: an expired refresh token leads to a new login. */
function onlyLoginErrors(error: unknown): undefined {
  if (error instanceof LoginError) return undefined;
  throw error;
}

function lineOf({ name, description }: JsonObject): string {
  const [summary = ""] = String(description ?? "").split("\n");
  return printable(`${name}  ${summary}`).trimEnd() + "\n";
}
