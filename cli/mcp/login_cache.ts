import { type JsonObject, objectAt, parseJson } from "../../src/base/json.ts";
import { readMembers } from "../../src/base/json/decode_members.ts";
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
  const login = readMembers(objectAt(value, "login"), {
    document: "object",
    issuer: "string",
    clientId: "string",
    resource: "string",
  }, { scope: "string" });
  const tokens = readMembers(
    objectAt(value, "tokens"),
    { accessToken: "string" },
    { refreshToken: "string", expiresAt: "number" },
  );
  return login && tokens && { login, tokens };
}
