import { createHash, randomBytes } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";
import type { EndpointServices } from "../clients/endpoint_services.ts";
import type { ModernCall } from "./modern_call.ts";

/** A client that does not come back in time loses its call. */
const LIMIT_MS = 600_000;
const MAX_PARKED = 1000;
const MAX_PARKED_PER_USER = 32;

interface ParkedCall {
  readonly call: ModernCall;
  readonly user: string;
  readonly stop: () => void;
}

/** Content of the `requestState` of a client: the state of a server, or a call that waits in a worker. */
export type InputState = { readonly state: string } | {
  readonly parked: string;
  readonly worker: number;
};

/** Calls that wait for the input of their clients, and the states with which these come back. */
export class ParkedCalls {
  readonly #services: EndpointServices;
  readonly #parked = new Map<string, ParkedCall>();

  constructor(services: EndpointServices) {
    this.#services = services;
  }

  get size(): number {
    return this.#parked.size;
  }

  /**
   * Keeps a call until the client comes back; returns the state.
   * @throws {RpcFailure} When too many calls wait.
   */
  park(call: ModernCall, user: string, digest: string): string {
    const { clock, worker } = this.#services;
    const isOwn = (parked: ParkedCall) => parked.user === user;
    const own = this.#parked.values().filter(isOwn).toArray().length;
    if (this.#parked.size >= MAX_PARKED || own >= MAX_PARKED_PER_USER) {
      const message = "Too many calls wait for input";
      throw new RpcFailure(RPC.INTERNAL_ERROR, message);
    }
    const parked = randomBytes(16).toString("base64url");
    const stop = clock.setTimer(() => {
      this.#parked.delete(parked);
      call.cancel();
    }, LIMIT_MS);
    this.#parked.set(parked, { call, user, stop });
    return this.#sealed({ parked, worker }, user, digest);
  }

  /** Seals the state of a server, which cannot know the user. */
  sealState(state: string, user: string, digest: string): string {
    return this.#sealed({ state }, user, digest);
  }

  /**
   * Reads the state of a request.
   * @throws {RpcFailure} When it is not the one that the user has got for this request.
   */
  open(sealed: string, user: string, digest: string): InputState {
    const { seal, clock } = this.#services;
    const value = seal.open("input", sealed);
    const { expiresAt, state, parked, worker } = value ?? {};
    const isValid = typeof expiresAt === "number" &&
      expiresAt > clock.now() && value?.["user"] === user &&
      value["digest"] === digest;
    if (isValid && typeof state === "string") return { state };
    if (isValid && typeof parked === "string" && typeof worker === "number") {
      return { parked, worker };
    }
    const message =
      "Invalid requestState: it is forged, too old, or that of another request";
    throw new RpcFailure(RPC.INVALID_PARAMS, message);
  }

  /**
   * Returns a call that waits, which waits no longer.
   * @throws {RpcFailure} When it is gone; it must not run again.
   */
  take(parked: string): ModernCall {
    const known = this.#parked.get(parked);
    if (known === undefined) {
      const message =
        "The call is lost, and may have had effects: the gateway has restarted, or the input came twice";
      throw new RpcFailure(RPC.INTERNAL_ERROR, message);
    }
    this.#parked.delete(parked);
    known.stop();
    return known.call;
  }

  /** Ends all calls. */
  close(): void {
    for (const { call, stop } of this.#parked.values()) {
      stop();
      call.cancel();
    }
    this.#parked.clear();
  }

  #sealed(state: InputState, user: string, digest: string): string {
    const { seal, clock } = this.#services;
    const expiresAt = clock.now() + LIMIT_MS;
    return seal.seal("input", { ...state, user, digest, expiresAt });
  }
}

/** Returns a digest of what a request wants: its input must not be used for something else. */
export function digestOf(method: string, params: JsonObject): string {
  const { _meta: _, inputResponses: __, requestState: ___, ...own } = params;
  return createHash("sha256").update(method)
    .update(JSON.stringify(sorted(own))).digest("base64url");
}

/** Clients may write members in another order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value) || Object.getPrototypeOf(value) === null) {
    return value;
  }
  return Object.fromEntries(
    Object.keys(value).sort().map((key) => [key, sorted(value[key])]),
  );
}
