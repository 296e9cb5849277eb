import { GatewayError } from "../../base/errors.ts";
import { PatternBudget } from "../../base/pattern.ts";
import type { RequestMessage } from "../../http/message.ts";
import { hostnameOf, selectListener } from "../../route/hostname.ts";
import type { RouteMatch } from "../../route/path_index.ts";
import { ANY_MODEL, type RoutableRequest } from "../../route/route_match.ts";
import { detectLlmApi, readPathModel } from "../../llm/llm_api.ts";
import { isBatchCreation } from "../../llm/batch/stored_output.ts";
import { isModelList, readShownModel } from "../../llm/providers/operation.ts";
import { readRequestModel } from "../../policy/expressions/llm_variable.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type {
  Listener,
  Route,
  WeightedBackend,
} from "../../snapshot/snapshot.ts";

/** Longest model in an error, in characters. */
const MAX_MODEL_CHARS = 100;

/** A request as routing sees it, and how far it is routed. */
export class RoutedRequest implements RoutableRequest {
  listener: Listener | undefined;
  route: Route | undefined;
  backend: Backend | undefined;
  model: string | typeof ANY_MODEL | undefined;
  /** Path that the route matched by prefix, such as `/v1`; `undefined` for other matches. */
  matchedPrefix: string | undefined;
  readonly #request: RequestMessage;
  #namedAuthority: string | undefined;
  #hostname = "";
  #patternBudget: PatternBudget | undefined;

  constructor(request: RequestMessage) {
    this.#request = request;
  }

  /** Returns a copy for another attempt at the same time, whose request is `request`. */
  fork(request: RequestMessage): RoutedRequest {
    const { listener, route, model, matchedPrefix } = this;
    const fork = new RoutedRequest(request);
    return Object.assign(fork, { listener, route, model, matchedPrefix });
  }

  get method(): string {
    return this.#request.method;
  }

  get target(): string {
    return this.#request.target;
  }

  get hostname(): string {
    const { authority } = this.#request;
    // Read for the listener and for the route, and rarely changed in between.
    if (authority !== this.#namedAuthority) {
      this.#namedAuthority = authority;
      this.#hostname = hostnameOf(authority);
    }
    return this.#hostname;
  }

  get patternBudget(): PatternBudget {
    return this.#patternBudget ??= new PatternBudget();
  }

  header(name: string): string | undefined {
    return this.#request.headers.getJoined(name);
  }

  /**
   * Selects the listener of the port for the hostname.
   * @throws {GatewayError} `listener_not_found`, `misdirected_request`.
   */
  enterListener(listeners: readonly Listener[]): Listener {
    const { hostname } = this;
    const listener = selectListener(listeners, hostname);
    if (listener === undefined) {
      throw new GatewayError(
        "listener_not_found",
        "downstream",
        `No listener for "${hostname}"`,
      );
    }
    this.listener = listener;
    this.#assertOwnConnection(listener, listeners);
    return listener;
  }

  /**
   * Reads the model of a request to an LLM, for listeners whose routes have conditions on it. A body that cannot be read, or that
   * servers may read differently, names no model.
   */
  async readModel(): Promise<void> {
    const { method, target } = this.#request;
    const api = detectLlmApi(method, target);
    if (isModelList(method, target)) {
      this.model = ANY_MODEL;
    } else if (api === "transcriptions") {
      // The model of a form may come after the whole recording.
      this.model = readPathModel(target);
    } else if (
      api !== undefined || readShownModel(method, target) !== undefined ||
      isBatchCreation(method, target)
    ) {
      this.model = await readRequestModel(this.#request);
    }
  }

  /** Returns whether this route is the one for requests that name `model`. */
  leadsTo(route: Route, model: string): boolean {
    const { method, target, hostname, patternBudget } = this;
    const header = (name: string) => this.header(name);
    const request = { method, target, hostname, patternBudget, header, model };
    return this.listener?.routes.find(request)?.value === route;
  }

  /** Finds the route of the listener that was entered. */
  findRoute(): RouteMatch<Route> | undefined {
    return this.listener?.routes.find(this) ??
      this.listener?.fallbacks?.find(this);
  }

  /**
   * Records the route that the listener found.
   * @throws {GatewayError} `route_not_found`.
   */
  enterRoute(match: RouteMatch<Route> | undefined): Route {
    if (match === undefined) {
      throw new GatewayError(
        "route_not_found",
        "downstream",
        typeof this.model === "string"
          ? `No route matches the request for the model ${
            JSON.stringify(this.model.slice(0, MAX_MODEL_CHARS))
          }`
          : "No route matches the request",
      );
    }
    this.route = match.value;
    this.matchedPrefix = match.matchedPrefix;
    return match.value;
  }

  /**
   * Returns the backend of a route that has only one.
   * @throws {GatewayError} `invalid_backend`.
   */
  onlyBackend(route: Route): WeightedBackend {
    const [backend] = route.backends;
    if (backend !== undefined && backend.weight > 0) return backend;
    throw new GatewayError(
      "invalid_backend",
      "gateway",
      `Route "${route.key}" has no backend`,
    );
  }

  /**
   * A connection that was opened for the name of one listener must not reach another, whose certificate and client certificate
   * rules the handshake did not apply (Gateway API, `Listener`; RFC 9110 section 15.5.20).
   */
  #assertOwnConnection(
    listener: Listener,
    listeners: readonly Listener[],
  ): void {
    const { hostname } = this;
    const { serverName } = this.#request;
    if (serverName === undefined || serverName === hostname) return;
    const opened = selectListener(listeners, hostnameOf(serverName));
    if (opened === undefined || opened === listener) return;
    throw new GatewayError(
      "misdirected_request",
      "downstream",
      `Cannot respond for "${hostname}" on a connection that was opened for "${serverName}": they belong to different listeners`,
    );
  }
}
