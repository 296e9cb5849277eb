import { Cancellation } from "../../../base/cancellation.ts";
import { inTime } from "../../../base/clock.ts";
import type { JsonObject } from "../../../base/json.ts";
import { withMeta } from "../../protocol/revisions.ts";
import {
  RpcFailure,
  type RpcMessage,
  writeNotification,
  writeRequest,
} from "../../protocol/rpc_messages.ts";
import type { BegunCall } from "../begun_call.ts";
import { MessageLimit } from "../failures/message_limit.ts";
import { ServerFailure, SessionLost } from "../failures/server_failure.ts";
import {
  type ConnectionOptions,
  type Listener,
  passNotification,
  type RequestSide,
} from "../server_connection.ts";
import type { LegacyLink } from "../server_links.ts";
import { ServerQuestions } from "./server_questions.ts";

/** A server that does not open its stream in this time gets the request without it. */
const OPEN_MS = 500;

/** Dependencies of a request in a session. */
export interface LegacyExchangeOptions {
  readonly options: ConnectionOptions;
  readonly link: LegacyLink;
  /** Sends a message to the server, of whose fate nobody learns. */
  readonly post: (text: string) => Promise<void>;
}

/** A request that is sent to a server. */
interface SentRequest {
  readonly id: number;
  readonly method: string;
  readonly params: JsonObject;
  /** The same request, if it has been sent already. */
  readonly begun: BegunCall | undefined;
}

/** Sends one request in a session, and answers what the server asks until the result is there. @throws {RpcFailure | ServerFailure | SessionLost} */
export async function exchange(
  { id, method, params, begun }: SentRequest,
  side: RequestSide,
  context: LegacyExchangeOptions,
): Promise<JsonObject> {
  const { link, post, options: { settings: { name, timeouts }, clock } } =
    context;
  const limit = new MessageLimit(
    side.cancellation,
    clock,
    timeouts.callMs,
    () => new ServerFailure(name, "timeout", "did not respond in time"),
    begun,
  );
  const cancelled = limit.cancellation.onCancel(() =>
    void post(writeNotification("notifications/cancelled", { requestId: id }))
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
    if (asksOutside(method, side, context)) {
      const notify = notifierFor(id, side);
      await openStream({ cancellation: listening, notify, ask }, context);
    }
    const messages = link.exchange(
      text,
      id,
      limit.cancellation,
      side,
      begun?.response,
    );
    const questions = new ServerQuestions(ask, post);
    const result = await readResult(messages, id, { limit, side, questions });
    if (result !== undefined) return result;
    throw new ServerFailure(name, "broken", "sent no response");
  } finally {
    const problem = "is not listened to any more";
    listening.cancel(new ServerFailure(name, "broken", problem));
    cancelled();
    limit.end();
  }
}

/** Reads messages until the result of a request; what the server asks meanwhile is answered beside. */
async function readResult(
  messages: AsyncIterable<RpcMessage>,
  id: number,
  { limit, side, questions }: {
    readonly limit: MessageLimit;
    readonly side: RequestSide;
    readonly questions: ServerQuestions;
  },
): Promise<JsonObject | undefined> {
  for await (const message of messages) {
    limit.restart();
    if (message.kind === "request") {
      void questions.answer(message);
    } else if (message.kind === "notification") {
      passNotification(message, id, side);
    } else if (message.id === id || message.id === undefined) {
      // An error without an id concerns this request, too: others have their own response.
      if (message.kind === "result") {
        // It means something in 2026-07-28 only.
        const { resultType: _, ...result } = message.result;
        return result;
      }
      throw RpcFailure.of(message.error);
    }
  }
  return undefined;
}

/** Passes on what a server sends outside of requests, and answers what it asks there, until the listener is cancelled. */
export async function listenTo(
  listener: Listener,
  { link, post }: Pick<LegacyExchangeOptions, "link" | "post">,
  onOpen: () => void = () => listener.onOpen?.(),
): Promise<void> {
  const questions = new ServerQuestions(
    (requests) => listener.ask(requests),
    post,
  );
  for await (const message of link.listen(listener.cancellation, onOpen)) {
    if (message.kind === "notification") {
      listener.notify(message.method, message.params);
    } else if (message.kind === "request") void questions.answer(message);
  }
}

/**
 * Reports whether the server may ask the client outside of the request, as many do: in a session of one request, the question can
 * only belong to that. A client with a session has its own stream for it.
 */
function asksOutside(
  method: string,
  side: RequestSide,
  { options: { capabilities } }: LegacyExchangeOptions,
): boolean {
  return side.takesInputRequired && mayAsk.has(method) &&
    Object.keys(capabilities).length > 0;
}

/** Resolves when the server can ask outside of requests, or offers no stream for it. */
async function openStream(
  listener: Listener,
  context: LegacyExchangeOptions,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // The request itself shows what is wrong with the server.
  const stream = listenTo(listener, context, resolve).catch(ignoreFailure);
  const opened = Promise.race([promise, stream]);
  await inTime(context.options.clock, OPEN_MS, opened);
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
export function ignoreFailure(error: unknown): void {
  const isFailure = error instanceof ServerFailure ||
    error instanceof SessionLost || error instanceof RpcFailure;
  if (!isFailure) throw error;
}
