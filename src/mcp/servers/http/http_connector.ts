import type { Cancellation } from "../../../base/cancellation.ts";
import type { JsonObject } from "../../../base/json.ts";
import { LegacyConnection } from "../legacy/legacy_connection.ts";
import type { McpAddress } from "../mcp_settings.ts";
import { MessageLimit } from "../failures/message_limit.ts";
import { aboutOf, discoverRequest, rejectsRevision } from "../era_probe.ts";
import { ModernConnection } from "../modern_connection.ts";
import type {
  ServerAbout,
  ServerConnection,
  ServerSession,
} from "../server_connection.ts";
import type {
  ConnectingClient,
  ConnectorOptions,
  ServerConnector,
} from "../server_connector.ts";
import { ServerFailure } from "../failures/server_failure.ts";
import { HttpLegacyLink } from "./http_legacy_link.ts";
import { HttpModernLink, modernCall } from "./http_modern_link.ts";
import { HttpTransport, type SendHttp } from "./http_transport.ts";

/** A verdict that a server has sessions is checked again after this time: it may have been upgraded. */
const LEGACY_VERDICT_MS = 3_600_000;

/** Result of asking a server for its revisions. */
type Verdict = { readonly era: "legacy"; readonly at: number } | {
  readonly era: "modern";
  readonly about: ServerAbout;
};

/** Connects to a server that speaks Streamable HTTP. */
export class HttpConnector implements ServerConnector {
  readonly #options: ConnectorOptions;
  readonly #http: HttpTransport;
  #verdict: Verdict | undefined;
  #probing: Promise<Verdict> | undefined;

  constructor(
    address: McpAddress,
    send: SendHttp,
    options: ConnectorOptions,
  ) {
    this.#options = options;
    this.#http = new HttpTransport(address, send, options);
  }

  /** All users have the same credentials. */
  scopeOf(): string {
    return "";
  }

  async connect({ capabilities }: ConnectingClient): Promise<ServerConnection> {
    const verdict = await this.#findVerdict();
    const options = { ...this.#options, capabilities };
    if (verdict.era === "legacy") {
      return await LegacyConnection.open(this.#createLink, options);
    }
    const link = new HttpModernLink({
      server: options.settings.name,
      http: this.#http,
      parameterHeaders: options.parameterHeaders,
      onWrongEra: () => this.forget(),
    });
    return new ModernConnection(link, { ...options, about: verdict.about });
  }

  resume(
    { capabilities }: ConnectingClient,
    session: ServerSession,
  ): ServerConnection {
    const options = { ...this.#options, capabilities };
    return LegacyConnection.resume(this.#createLink, options, session);
  }

  isStale({ about: { era } }: ServerConnection): boolean {
    const known = this.#verdict?.era;
    return known === undefined ? era === "modern" : era !== known;
  }

  forget(): void {
    this.#verdict = undefined;
  }

  retire(): void {
    // Nothing is kept open but what clients use.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  readonly #createLink = (sessionId?: string) =>
    new HttpLegacyLink({
      server: this.#options.settings.name,
      http: this.#http,
      clock: this.#options.clock,
      onWrongEra: () => {
        this.forget();
        // Open sessions are stale once the other era is known; the next request shows what is wrong otherwise.
        this.#findVerdict().catch(() => {});
      },
    }, sessionId);

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
    const { clock, closing, settings: { name, timeouts } } = this.#options;
    const limit = new MessageLimit(
      closing,
      clock,
      timeouts.connectMs,
      () => new ServerFailure(name, "unreachable", "did not respond in time"),
    );
    const { cancellation } = limit;
    try {
      let answer = await this.#discover(cancellation);
      // Such a server wants the revision once more, and has said nothing of itself yet.
      if (rejectsRevision(answer)) answer = await this.#discover(cancellation);
      const about = aboutOf(answer);
      this.#verdict = about === undefined
        ? { era: "legacy", at: clock.monotonic() }
        : { era: "modern", about };
      return this.#verdict;
    } finally {
      limit.end();
    }
  }

  async #discover(cancellation: Cancellation): Promise<unknown> {
    const { name } = this.#options.settings;
    const call = modernCall(discoverRequest, cancellation);
    const { status, error, messages } = await this.#http.call(call);
    if (status === 401 || status === 403) {
      const problem = `rejects the gateway with ${status}`;
      throw new ServerFailure(name, "rejected", problem);
    }
    if (isInconclusive(status)) {
      const problem = `responds with status ${status}`;
      throw new ServerFailure(name, "unreachable", problem);
    }
    return status < 300 ? await firstAnswer(messages()) : error;
  }
}

/** Statuses that say nothing about the era. */
function isInconclusive(status: number): boolean {
  return status >= 500 || [407, 408, 429].includes(status);
}

/** Returns the answer; `undefined` for a text that is none, such as that of a framework for an unknown method. */
async function firstAnswer(
  messages: ReturnType<Awaited<ReturnType<HttpTransport["call"]>>["messages"]>,
): Promise<JsonObject | undefined> {
  try {
    for await (const message of messages) {
      if (message.kind === "result") return message.result;
      if (message.kind === "error") return { ...message.error };
    }
  } catch (error) {
    const isNone = error instanceof ServerFailure && error.kind === "invalid";
    if (!isNone) throw error;
  }
  return undefined;
}
