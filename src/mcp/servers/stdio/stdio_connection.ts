import type { JsonObject } from "../../../base/json.ts";
import { RPC, RpcFailure } from "../../protocol/rpc_messages.ts";
import { listFacts } from "../lists/list_items.ts";
import type {
  Listener,
  ListenFilter,
  RequestSide,
  ServerAbout,
  ServerConnection,
} from "../server_connection.ts";
import type { ProcessSlot } from "./process_slot.ts";

/** The processes that a client uses. */
export interface ClientSlots {
  /** Names the process of the client's calls. */
  readonly ownKey: string;
  /** Process of the client's calls. */
  own(): ProcessSlot;
  /** Names the process that lists while that of the client does not run. */
  readonly listingKey: string;
  /** Process that lists while that of the client does not run, so that a user who only looks needs none. */
  listing(): ProcessSlot;
}

const listMethods: ReadonlySet<string> = new Set(
  Object.values(listFacts).map(({ method }) => method),
);

/** A client's conversation with a server whose processes come and go. */
export class StdioConnection implements ServerConnection {
  readonly about: ServerAbout;
  readonly isShareable = true;
  readonly session = undefined;
  readonly #slots: ClientSlots;
  /** Resources that the client has subscribed to. */
  readonly #uris = new Set<string>();

  constructor(about: ServerAbout, slots: ClientSlots) {
    this.about = about;
    this.#slots = slots;
  }

  get view(): string {
    const { own, ownKey, listingKey } = this.#slots;
    return own().isRunning ? ownKey : listingKey;
  }

  async request(
    method: string,
    params: JsonObject,
    side: RequestSide,
  ): Promise<JsonObject> {
    const { own, listing } = this.#slots;
    const slot = listMethods.has(method) && !own().isRunning
      ? listing()
      : own();
    const result = await slot.use(({ connection }) =>
      connection.request(method, params, side)
    );
    const { uri } = params;
    if (typeof uri === "string") {
      if (method === "resources/subscribe") this.#uris.add(uri);
      else if (method === "resources/unsubscribe") this.#uris.delete(uri);
    }
    return result;
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    const slot = this.#slots.own();
    if (!slot.isRunning) return;
    await slot.use(({ connection }) => connection.notify(method, params));
  }

  async listen(filter: ListenFilter, listener: Listener): Promise<void> {
    const { own, listing, ownKey, listingKey } = this.#slots;
    const wanted = new Set(filter.resourceUris);
    const { cancellation, notify } = listener;
    // The process that runs is listened to at once; one that starts later has no news before.
    listener.onOpen?.();
    const follow = (slot: ProcessSlot, filter: ListenFilter, to: Listener) =>
      slot.follow(
        cancellation,
        ({ connection }) => connection.listen(filter, to),
      );
    const following = [follow(own(), filter, {
      ...listener,
      notify: (method, params) => {
        const { uri } = params;
        // The process tells of the subscriptions of all its clients.
        const isOther = method === "notifications/resources/updated" &&
          !(typeof uri === "string" &&
            (this.#uris.has(uri) || wanted.has(uri)));
        if (!isOther) notify(method, params);
      },
    })];
    if (ownKey !== listingKey) {
      following.push(follow(listing(), { ...filter, resourceUris: [] }, {
        cancellation,
        notify: (method, params) => {
          if (method.endsWith("/list_changed")) notify(method, params);
        },
        ask: () => {
          throw new RpcFailure(RPC.INTERNAL_ERROR, "No client can be asked");
        },
      }));
    }
    await Promise.all(following);
  }

  close(): Promise<void> {
    // The process ends when nobody has used it for a while.
    return Promise.resolve();
  }
}
