import { utf8 } from "../../../base/bytes.ts";
import { inTime } from "../../../base/clock.ts";
import { Cancellation } from "../../../base/cancellation.ts";
import { type JsonObject } from "../../../base/json.ts";
import { KeptValues } from "../../../base/kept_values.ts";
import {
  RpcFailure,
  type RpcMessage,
  writeNotification,
  writeRequest,
} from "../../protocol/rpc_messages.ts";
import { withMeta } from "../../protocol/revisions.ts";
import { ServerQuestions } from "./server_questions.ts";
import { initialize } from "./initialize.ts";
import { MessageLimit } from "../failures/message_limit.ts";
import { callWriter, type WriteCall } from "../../protocol/raw_messages.ts";
import { BegunCall } from "../begun_call.ts";
import type { LegacyLink } from "../server_links.ts";
import {
  type ConnectionOptions,
  type Listener,
  type ListenFilter,
  passNotification,
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
/** A server that does not open its stream in this time gets the request without it. */
const OPEN_MS = 500;
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
    await this.#listen(this.#link, listener, () => {});
  }

  async #listen(
    link: LegacyLink,
    listener: Listener,
    onOpen: () => void,
  ): Promise<void> {
    const questions = this.#questions((requests) => listener.ask(requests));
    for await (const message of link.listen(listener.cancellation, onOpen)) {
      if (message.kind === "notification") {
        listener.notify(message.method, message.params);
      } else if (message.kind === "request") void questions.answer(message);
    }
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

  async #exchange(
    link: LegacyLink,
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const { settings, clock } = this.#options;
    const begun = side.begun?.take();
    const id = begun?.id ?? ++this.#nextId;
    const limit = new MessageLimit(
      side.cancellation,
      clock,
      settings.timeouts.callMs,
      () =>
        new ServerFailure(settings.name, "timeout", "did not respond in time"),
      begun,
    );
    const cancelled = limit.cancellation.onCancel(() =>
      void this.#post(
        writeNotification("notifications/cancelled", { requestId: id }),
      )
    );
    const meta = {
      ...side.meta,
      ...(side.progressToken !== undefined && { progressToken: id }),
    };
    // Input in further rounds is new in 2026-07-28.
    const { inputResponses: _, requestState: __, ...own } = params;
    const text = writeRequest(id, method, withMeta(own, meta));
    const ask: RequestSide["ask"] = (requests) =>
      limit.pausedDuring(() => side.ask(requests));
    const listening = new Cancellation();
    try {
      if (this.#asksOutside(method, side)) {
        await this.#openStream(link, {
          cancellation: listening,
          notify: notifierFor(id, side),
          ask,
        });
      }
      const messages = link.exchange(
        text,
        id,
        limit.cancellation,
        side,
        begun?.response,
      );
      return await this.#readResult(messages, id, { limit, side, ask });
    } finally {
      listening.cancel(this.#failure("broken", "is not listened to any more"));
      cancelled();
      limit.end();
    }
  }

  /** Reads messages until the result of a request; what the server asks meanwhile is answered beside. */
  async #readResult(
    messages: AsyncIterable<RpcMessage>,
    id: number,
    { limit, side, ask }: {
      readonly limit: MessageLimit;
      readonly side: RequestSide;
      readonly ask: RequestSide["ask"];
    },
  ): Promise<JsonObject> {
    const questions = this.#questions(ask);
    for await (const message of messages) {
      limit.restart();
      if (message.kind === "request") {
        void questions.answer(message);
      } else if (message.kind === "notification") {
        passNotification(message, id, side);
      } else if (message.id === id) {
        if (message.kind === "result") return message.result;
        throw RpcFailure.of(message.error);
      }
    }
    throw this.#failure("broken", "sent no response");
  }

  /**
   * Reports whether the server may ask the client outside of the request, as many do: in a session of one request, the question can
   * only belong to that. A client with a session has its own stream for it.
   */
  #asksOutside(method: string, side: RequestSide): boolean {
    return side.takesInputRequired && mayAsk.has(method) &&
      Object.keys(this.#options.capabilities).length > 0;
  }

  /** Resolves when the server can ask outside of requests, or offers no stream for it. */
  async #openStream(link: LegacyLink, listener: Listener): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    // The request itself shows what is wrong with the server.
    const stream = this.#listen(link, listener, resolve).catch(ignoreFailure);
    const opened = Promise.race([promise, stream]);
    await inTime(this.#options.clock, OPEN_MS, opened);
  }

  #questions(ask: RequestSide["ask"]): ServerQuestions {
    return new ServerQuestions(ask, (text) => this.#post(text));
  }

  /** Sends a message whose fate does not matter to the request under way. */
  async #post(text: string): Promise<void> {
    const limit = this.#limit(NOTIFY_MS);
    try {
      await this.#link.post(text, limit.cancellation);
    } catch (error) {
      ignoreFailure(error);
    } finally {
      limit.end();
    }
  }

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

/** Passes on what belongs to a request of all that a server sends outside of it. */
function notifierFor(id: number, side: RequestSide): Listener["notify"] {
  return (method, params) => {
    if (!belongsToRequest.has(method)) return;
    passNotification({ kind: "notification", method, params }, id, side);
  };
}

/** Requests during which a client of 2026-07-28 can be asked. */
const mayAsk: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "tasks/result",
]);
const belongsToRequest: ReadonlySet<string> = new Set([
  "notifications/progress",
  "notifications/message",
]);

/** Ignores the failure of a message or stream that no request waits for. @throws Any other error. */
function ignoreFailure(error: unknown): void {
  const isFailure = error instanceof ServerFailure ||
    error instanceof SessionLost || error instanceof RpcFailure;
  if (!isFailure) throw error;
}

/** Capabilities of a server that are not known: none is excluded. */
const anything: JsonObject = {
  tools: {},
  prompts: {},
  resources: { subscribe: true },
  completions: {},
  logging: {},
};
