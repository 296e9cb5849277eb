import { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ParameterHeader } from "../protocol/header_values.ts";
import { RPC } from "../protocol/rpc_messages.ts";
import { type Era, modernRevisions } from "../protocol/revisions.ts";
import { HttpTransport, type SendHttp } from "./http_transport.ts";
import { LegacyConnection } from "./legacy_connection.ts";
import { HttpLegacyLink } from "./legacy_link.ts";
import { MessageLimit } from "./message_limit.ts";
import { modernCall, ModernConnection } from "./modern_connection.ts";
import type {
  ServerAbout,
  ServerConnection,
  ServerSession,
} from "./server_connection.ts";
import { ServerFailure } from "./server_failure.ts";
import { ServerHealth } from "./server_health.ts";
import { type McpServerStatus, unusedServer } from "./server_status.ts";
import type { McpAddress, McpServerSettings } from "./mcp_settings.ts";

/** Dependencies of a server. */
export interface McpServerOptions {
  readonly settings: McpServerSettings;
  readonly address: McpAddress;
  readonly send: SendHttp;
  readonly clock: Clock;
  /** Lists the tools anew. @throws {ServerFailure} */
  check(server: McpServer): Promise<void>;
  /** Called when the server fails or comes back. */
  onChange(server: McpServer, failure: ServerFailure | undefined): void;
  /** Returns the arguments of a tool that the server wants in headers. */
  parameterHeaders(
    server: McpServer,
    tool: string,
  ): Promise<readonly ParameterHeader[]>;
}

/** A verdict that a server has sessions is checked again after this time: it may have been upgraded. */
const LEGACY_VERDICT_MS = 3_600_000;

/** Result of asking a server for its revisions. */
type Verdict = { readonly era: "legacy"; readonly at: number } | {
  readonly era: "modern";
  readonly about: ServerAbout;
};

/** One server of an endpoint: its era, its health, and conversations with it. */
export class McpServer {
  readonly settings: McpServerSettings;
  readonly health: ServerHealth;
  readonly #options: McpServerOptions;
  readonly #http: HttpTransport;
  readonly #closing = new Cancellation();
  #verdict: Verdict | undefined;
  /** The latest era that was found, and when the first one was, in milliseconds since the epoch. */
  #found: { readonly era: Era; readonly firstAt: number } | undefined;
  #probing: Promise<Verdict> | undefined;

  constructor(options: McpServerOptions) {
    const { settings, address, send, clock } = options;
    this.#options = options;
    this.settings = settings;
    this.#http = new HttpTransport(settings.name, address, send);
    this.health = new ServerHealth({
      clock,
      check: async () => {
        this.#verdict = undefined;
        await options.check(this);
      },
      onChange: (failure) => options.onChange(this, failure),
    });
  }

  get name(): string {
    return this.settings.name;
  }

  /**
   * Finds the era of the server, and opens a conversation with it.
   * @param capabilities Of the client.
   * @throws {ServerFailure}
   */
  async connect(capabilities: JsonObject): Promise<ServerConnection> {
    try {
      const verdict = await this.#findVerdict();
      const { settings, clock } = this.#options;
      const options = { settings, clock, capabilities, closing: this.#closing };
      if (verdict.era === "legacy") {
        return await LegacyConnection.open(this.#createLink, options);
      }
      return new ModernConnection(this.#http, {
        ...options,
        about: verdict.about,
        parameterHeaders: (tool) => this.#options.parameterHeaders(this, tool),
        onWrongEra: () => this.#verdict = undefined,
      });
    } catch (error) {
      if (error instanceof ServerFailure) this.health.failed(error);
      throw error;
    }
  }

  /** Continues a session at a server of the legacy era, without a message to it. */
  resume(
    capabilities: JsonObject,
    session: ServerSession,
  ): ServerConnection {
    const { settings, clock } = this.#options;
    const options = { settings, clock, capabilities, closing: this.#closing };
    return LegacyConnection.resume(this.#createLink, options, session);
  }

  /** Describes the server for humans. @param tools Number of its tools, if it is known. */
  describe(tools: number | undefined): McpServerStatus {
    const { isFailed, changedAt, latest } = this.health.describe();
    const since = changedAt ?? this.#found?.firstAt;
    const isUsed = since !== undefined || tools !== undefined;
    return {
      ...unusedServer(this.#options),
      state: isFailed ? "failed" : isUsed ? "up" : "unused",
      era: this.#found?.era ?? null,
      tools: tools ?? null,
      since: since === undefined ? null : new Date(since).toISOString(),
      lastError: latest?.message ?? null,
      lastErrorAt: latest === undefined
        ? null
        : new Date(latest.at).toISOString(),
    };
  }

  /** Reports whether the server has changed its era since a conversation began. */
  isStale({ about: { era } }: ServerConnection): boolean {
    const known = this.#verdict?.era;
    return known === undefined ? era === "modern" : era !== known;
  }

  /** Ends checks and attempts to connect. */
  close(): void {
    this.health.close();
    const problem = "is not used any more";
    this.#closing.cancel(new ServerFailure(this.name, "broken", problem));
  }

  /** Cancelled when the gateway does not need the server any more. */
  get closing(): Cancellation {
    return this.#closing;
  }

  /** Records the failure of a server that is gone; returns the error. */
  noteFailure<T>(error: T): T {
    if (error instanceof ServerFailure && error.isDown) {
      this.health.failed(error);
    }
    return error;
  }

  readonly #createLink = (sessionId?: string) =>
    new HttpLegacyLink(
      this.name,
      this.#http,
      this.#options.clock,
      sessionId,
    );

  #findVerdict(): Promise<Verdict> {
    const known = this.#verdict;
    const isCurrent = known?.era === "modern" ||
      known?.era === "legacy" &&
        this.#options.clock.monotonic() - known.at < LEGACY_VERDICT_MS;
    if (known !== undefined && isCurrent) return Promise.resolve(known);
    return this.#probing ??= this.#probe().finally(() => {
      this.#probing = undefined;
    });
  }

  /** Asks with `server/discover`: only that is safe, for a lenient server could execute another request (MCP 2026-07-28, "Backward compatibility"). */
  async #probe(): Promise<Verdict> {
    const { clock, settings: { name, timeouts } } = this.#options;
    const limit = new MessageLimit(
      this.#closing,
      clock,
      timeouts.connectMs,
      () => new ServerFailure(name, "unreachable", "did not respond in time"),
    );
    const { cancellation } = limit;
    try {
      const call = modernCall(0, "server/discover", {}, {
        capabilities: {},
        cancellation,
      });
      const { status, error, messages } = await this.#http.call(call);
      if (isInconclusive(status)) {
        const rejects = status === 401 || status === 403;
        throw new ServerFailure(
          name,
          rejects ? "rejected" : "unreachable",
          rejects
            ? `rejects the gateway with ${status}`
            : `responds with status ${status}`,
        );
      }
      const answer = status < 300 ? await firstAnswer(messages()) : error;
      const about = aboutOf(answer);
      this.#verdict = about === undefined
        ? { era: "legacy", at: clock.monotonic() }
        : { era: "modern", about };
      this.#found = {
        era: this.#verdict.era,
        firstAt: this.#found?.firstAt ?? clock.now(),
      };
      return this.#verdict;
    } finally {
      limit.end();
    }
  }
}

/** Statuses that say nothing about the era. */
function isInconclusive(status: number): boolean {
  return status >= 500 || [401, 403, 407, 408, 429].includes(status);
}

async function firstAnswer(
  messages: ReturnType<Awaited<ReturnType<HttpTransport["call"]>>["messages"]>,
): Promise<JsonObject | undefined> {
  for await (const message of messages) {
    if (message.kind === "result") return message.result;
    if (message.kind === "error") return { ...message.error };
  }
  return undefined;
}

/** Reads the answer to `server/discover`; `undefined` for that of a server without this revision. */
function aboutOf(answer: unknown): ServerAbout | undefined {
  if (!isJsonObject(answer)) return undefined;
  const { supportedVersions, capabilities, instructions, code, data } = answer;
  const isModern = (versions: unknown) =>
    Array.isArray(versions) &&
    versions.some((version) => modernRevisions.has(version));
  const supported = isJsonObject(data) ? data["supported"] : undefined;
  const speaks = code === undefined
    ? isModern(supportedVersions)
    : code === RPC.HEADER_MISMATCH || code === RPC.MISSING_CAPABILITY ||
      code === RPC.UNSUPPORTED_VERSION && isModern(supported);
  return !speaks ? undefined : {
    era: "modern",
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}
