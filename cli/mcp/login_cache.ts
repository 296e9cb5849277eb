import {
  isJsonObject,
  type JsonObject,
  objectAt,
  parseJson,
  stringMember,
} from "../../src/base/json.ts";
import type { Login, Tokens } from "./log_in.ts";

/** A login for later commands. */
export interface CachedLogin {
  readonly login: Login;
  readonly tokens: Tokens;
}

/**
 * The user's logins by URL of the MCP server, in `$XDG_STATE_HOME/gwctl/logins.json` (by default below `~/.local/state`). Only the
 * user can read the file.
 */
export class LoginCache {
  readonly #directory: string;

  constructor(directory = defaultDirectory()) {
    this.#directory = directory;
  }

  async get(url: string): Promise<CachedLogin | undefined> {
    return decode((await this.#read())[url]);
  }

  async set(url: string, cached: CachedLogin): Promise<void> {
    const all = { ...await this.#read(), [url]: cached };
    await Deno.mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const path = `${this.#directory}/logins.json`;
    // Written to another file and renamed: an interrupted command leaves no incomplete file.
    const temporary = `${path}.${Deno.pid}`;
    await Deno.writeTextFile(temporary, JSON.stringify(all), { mode: 0o600 });
    await Deno.rename(temporary, path);
  }

  async #read(): Promise<JsonObject> {
    try {
      const text = await Deno.readTextFile(`${this.#directory}/logins.json`);
      return objectAt(parseJson(text));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return {};
      throw error;
    }
  }
}

function defaultDirectory(): string {
  const state = Deno.env.get("XDG_STATE_HOME") ??
    `${
      Deno.env.get("HOME") ?? Deno.env.get("USERPROFILE") ?? "."
    }/.local/state`;
  return `${state}/gwctl`;
}

function decode(value: unknown): CachedLogin | undefined {
  const login = objectAt(value, "login");
  const tokens = objectAt(value, "tokens");
  const { document } = login;
  const issuer = stringMember(login, "issuer");
  const clientId = stringMember(login, "clientId");
  const resource = stringMember(login, "resource");
  const accessToken = stringMember(tokens, "accessToken");
  const { expiresAt } = tokens;
  if (
    !isJsonObject(document) || issuer === undefined ||
    clientId === undefined || resource === undefined ||
    accessToken === undefined
  ) return undefined;
  return {
    login: {
      document,
      issuer,
      clientId,
      resource,
      scope: stringMember(login, "scope"),
    },
    tokens: {
      accessToken,
      refreshToken: stringMember(tokens, "refreshToken"),
      expiresAt: typeof expiresAt === "number" ? expiresAt : undefined,
    },
  };
}
