import { setNewest } from "../../base/kept_values.ts";
import type { UpstreamRequest } from "../../http/client/upstream.ts";
import type {
  AttemptTarget,
  Destination,
} from "../balancing/attempt_target.ts";
import { hashOf } from "../balancing/hash.ts";

const MAX_SESSIONS = 10_000;
const SESSION = "mcp-session-id";

/**
 * The endpoints of sessions at a server with several: requests of a session go where it began, as long as that endpoint is well. Any
 * other says that it does not know the session, which then begins anew.
 */
export class SessionPlaces {
  /** Hashes of endpoints by session, the one that began last at the end. */
  readonly #places = new Map<string, number>();
  readonly #isOne: boolean;

  /** @param isOne All requests belong together, as those of HTTP+SSE, whose headers have no session. */
  constructor(isOne: boolean) {
    this.#isOne = isOne;
  }

  /** Chooses the endpoint of a request. @throws {GatewayError} `no_endpoints` */
  choose(
    destination: Destination,
    { headers }: UpstreamRequest,
  ): AttemptTarget {
    if (destination.size === undefined) {
      return destination.choose([], undefined, false);
    }
    const id = this.#isOne ? "" : headers.get(SESSION);
    const place = id === undefined ? undefined : this.#places.get(id);
    const own = place === undefined
      ? destination
      : destination.preferring?.(place) ?? destination;
    const endpoint = own.choose([], undefined, false);
    // Since 2026-07-28, there are no sessions.
    const isNew = place === undefined && !headers.has("mcp-method");
    return isNew || this.#isOne ? this.#noting(endpoint, id) : endpoint;
  }

  /** Returns an endpoint whose session is noted once it has responded. @param id Of the session, unless it begins. */
  #noting(endpoint: AttemptTarget, id: string | undefined): AttemptTarget {
    const { label } = endpoint;
    return {
      label,
      send: async (...call) => {
        const response = await endpoint.send(...call);
        const session = id ?? response.headers.get(SESSION);
        if (session !== undefined) {
          setNewest(this.#places, session, hashOf(label), MAX_SESSIONS);
        }
        return response;
      },
    };
  }
}
