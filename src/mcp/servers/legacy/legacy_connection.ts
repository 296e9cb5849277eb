import { utf8 } from "../../../base/bytes.ts";
import { Cancellation } from "../../../base/cancellation.ts";
import { type JsonObject } from "../../../base/json.ts";
import { KeptValues } from "../../../base/kept_values.ts";
import { writeNotification } from "../../protocol/rpc_messages.ts";
import { initialize } from "./initialize.ts";
import { exchange, ignoreFailure, listenTo } from "./legacy_exchange.ts";
import { MessageLimit } from "../failures/message_limit.ts";
import { callWriter, type WriteCall } from "../../protocol/raw_messages.ts";
import { BegunCall } from "../begun_call.ts";
import type { LegacyLink } from "../server_links.ts";
import {
  type ConnectionOptions,
  type Listener,
  type ListenFilter,
  type RawCall,
  type RequestSide,
  type ServerAbout,
  type ServerConnection,
  type ServerSession,
} from "../server_connection.ts";
import { ServerFailure, SessionLost } from "../failures/server_failure.ts";

/** Time for a message whose answer nobody waits for. */
const NOTIFY_MS = 5000;
const CLOSE_MS = 1000;
/** Tools whose calls are prepared. */
const MAX_WRITERS = 256;

/** A session at a server of a revision with `initialize`; it is renewed when the server has forgotten it. */
export class LegacyConnection implements ServerConnection {
  readonly #options: ConnectionOptions;
  readonly #createLink: (sessionId?: string) => LegacyLink;
  #link: LegacyLink;
  readonly #writers = new KeptValues<string, WriteCall>(
    MAX_WRITERS,
    callWriter,
  );
  #about: ServerAbout | undefined;
  #nextId = 0;
  #renewing: Promise<void> | undefined;
  #isClosed = false;

  /**
   * Begins a session.
   * @throws {ServerFailure}
   */
  static async open(
    createLink: () => LegacyLink,
    options: ConnectionOptions,
  ): Promise<LegacyConnection> {
    const connection = new LegacyConnection(createLink, options);
    await connection.#initialize();
    return connection;
  }

  /** Continues a session that has begun earlier, in this process or in another one. */
  static resume(
    createLink: (sessionId?: string) => LegacyLink,
    options: ConnectionOptions,
    session: ServerSession,
  ): LegacyConnection {
    const connection = new LegacyConnection(createLink, options);
    connection.#link = createLink(session.id);
    connection.#link.revision = session.revision;
    return connection;
  }

  private constructor(
    createLink: (sessionId?: string) => LegacyLink,
    options: ConnectionOptions,
  ) {
    this.#createLink = createLink;
    this.#options = options;
    this.#link = createLink();
  }

  /** Declarations of the server; of a session that was resumed, nothing is known, and everything is tried. */
  get about(): ServerAbout {
    return this.#about ?? {
      era: "legacy",
      capabilities: anything,
      instructions: undefined,
    };
  }

  get view(): string {
    return this.#link.sessionId ?? JSON.stringify(this.#options.capabilities);
  }

  get isShareable(): boolean {
    return !this.#link.isStateful;
  }

  get session(): ServerSession | undefined {
    const { sessionId: id, revision } = this.#link;
    return id === undefined || revision === undefined
      ? undefined
      : { id, revision };
  }

  async request(
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const link = this.#link;
    try {
      return await this.#exchange(link, method, params, side);
    } catch (error) {
      // The server has not run a request for a session that it does not know.
      if (!(error instanceof SessionLost)) throw error;
      await this.#renew(link);
      return await this.#exchange(this.#link, method, params, side)
        .catch((again) => {
          if (!(again instanceof SessionLost)) throw again;
          throw this.#failure("failed", "does not know its own sessions");
        });
    }
  }

  begin(
    { tool, args, meta, owners, beganAt, end }: RawCall,
  ): BegunCall | undefined {
    const send = this.#link.callOf?.(tool);
    if (send === undefined) return undefined;
    const id = ++this.#nextId;
    const written = Object.keys(meta).length === 0
      ? undefined
      : utf8(JSON.stringify(meta));
    const content = this.#writers.get(tool)(id, args, written);
    const cancellation = new Cancellation();
    const response = send(content, owners, cancellation);
    return new BegunCall(id, beganAt, end, cancellation, response);
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await this.#post(writeNotification(method, params));
  }

  async listen(_: ListenFilter, listener: Listener): Promise<void> {
    await listenTo(listener, { link: this.#link, post: this.#post });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end(this.#link);
  }

  /** Reports the end of a session, also when the gateway stops. */
  async #end(link: LegacyLink): Promise<void> {
    const limit = this.#limit(CLOSE_MS, new Cancellation());
    try {
      await link.end(limit.cancellation);
    } finally {
      limit.end();
    }
  }

  #exchange(
    link: LegacyLink,
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const begun = side.begun?.take();
    const id = begun?.id ?? ++this.#nextId;
    const context = { options: this.#options, link, post: this.#post };
    return exchange({ id, method, params, begun }, side, context);
  }

  /** Sends a message whose fate does not matter to the request under way. */
  readonly #post = async (text: string): Promise<void> => {
    const limit = this.#limit(NOTIFY_MS);
    try {
      await this.#link.post(text, limit.cancellation);
    } catch (error) {
      ignoreFailure(error);
    } finally {
      limit.end();
    }
  };

  /** Requests that find the session lost at the same time renew it once. */
  #renew(lost: LegacyLink): Promise<void> {
    if (this.#link !== lost) return Promise.resolve();
    return this.#renewing ??= this.#initialize().finally(() => {
      this.#renewing = undefined;
    });
  }

  async #initialize(): Promise<void> {
    const { settings } = this.#options;
    const link = this.#createLink();
    const limit = this.#limit(settings.timeouts.connectMs);
    const { cancellation } = limit;
    try {
      const id = ++this.#nextId;
      const about = await initialize(link, id, this.#options, cancellation);
      if (this.#isClosed) await link.end(cancellation);
      this.#link = link;
      this.#about = about;
    } catch (error) {
      // The server forgets the session by itself, if it does not learn of its end.
      this.#end(link).catch(() => {});
      throw error;
    } finally {
      limit.end();
    }
  }

  #failure(kind: ServerFailure["kind"], problem: string): ServerFailure {
    return new ServerFailure(this.#options.settings.name, kind, problem);
  }

  #limit(limitMs: number, parent = this.#options.closing): MessageLimit {
    const { clock, settings: { name } } = this.#options;
    const reason = () =>
      new ServerFailure(name, "unreachable", "did not respond in time");
    return new MessageLimit(parent, clock, limitMs, reason);
  }
}

/** Capabilities of a server that are not known: none is excluded. */
const anything: JsonObject = {
  tools: {},
  prompts: {},
  resources: { subscribe: true },
  completions: {},
  logging: {},
};
