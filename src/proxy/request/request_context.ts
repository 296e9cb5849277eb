import { owningServer } from "../../mcp/names/owning_server.ts";
import {
  type DiscoveryRole,
  discoveryRole,
} from "../../mcp/discovery/discovery_tools.ts";
import type { RequestMessage } from "../../http/message.ts";
import type {
  PolicyContext,
  ReadableBy,
} from "../../policy/contract/policy.ts";
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import { Slots } from "../../policy/contract/slot.ts";
import type { ResponseCounts } from "../../llm/usage/token_usage.ts";
import type { Route } from "../../snapshot/snapshot.ts";
import type { RoutedRequest } from "./routed_request.ts";

/** The facts of a request that never change. */
export interface RequestFacts {
  readonly request: RequestMessage;
  readonly client: RequestMessage["source"];
  readonly requestId: string;
  readonly acceptedAt: number;
  readonly routed: RoutedRequest;
  readonly meter?: { readonly counts: ResponseCounts } | undefined;
}

/** A request as policies see it, with what they leave for each other. */
export class RequestContext implements PolicyContext {
  readonly request: RequestMessage;
  readonly client: RequestMessage["source"];
  readonly requestId: string;
  readonly acceptedAt: number;
  readonly slots: Slots;
  trace: PolicyTrace | undefined;
  readonly #routed: RoutedRequest;
  readonly #facts: RequestFacts;

  /** @param slots Those of another attempt of the request. */
  constructor(facts: RequestFacts, slots = new Slots()) {
    this.slots = slots;
    const { request, client, requestId, acceptedAt, routed } = facts;
    this.request = request;
    this.client = client;
    this.requestId = requestId;
    this.acceptedAt = acceptedAt;
    this.#routed = routed;
    this.#facts = facts;
  }

  get gateway(): string | undefined {
    return this.#routed.listener?.gateway;
  }

  get route(): string | undefined {
    return this.#routed.route?.key.replace(/\/[^/]*$/, "");
  }

  get matchedPrefix(): string | undefined {
    return this.#routed.matchedPrefix;
  }

  mcpServer(
    kind: "tool" | "prompt" | "resource",
    name: string,
  ): string | undefined {
    const { route = this.#routed.findRoute()?.value } = this.#routed;
    return route && serverOf(route, kind, name);
  }

  discoveryRole(name: string): DiscoveryRole | undefined {
    const { route = this.#routed.findRoute()?.value } = this.#routed;
    const searches = route?.backends.some(({ backend }) =>
      backend?.mcp?.discovery !== undefined
    );
    return searches ? discoveryRole(name) : undefined;
  }

  get readableBy(): ReadableBy | undefined {
    const { listener, route = this.#routed.findRoute()?.value } = this.#routed;
    for (const policies of [listener?.policies, route?.policies]) {
      for (const policy of policies ?? []) {
        const readers = policy.readableBy?.(this);
        if (readers !== undefined) return readers;
      }
    }
    return undefined;
  }

  get requiredScopes(): readonly string[] {
    const { route, listener } = this.#routed;
    const policies = route?.policies ?? listener?.policies ?? [];
    return [
      ...new Set(policies.flatMap(({ requiredScopes = [] }) => requiredScopes)),
    ];
  }

  get responseUsage(): ResponseCounts | undefined {
    return this.#facts.meter?.counts;
  }

  get resourcePath(): string | undefined {
    return this.#routed.route?.resourcePath;
  }
}

const MAX_NAMES = 1000;
/** Longer names are not kept. */
const MAX_NAME_LENGTH = 128;
/** Servers of routes by kind and name: the configuration alone says them. */
const knownServers = new WeakMap<Route, Map<string, string | undefined>>();

/** Returns the server of a target, if it is the same at all backends of a route. */
function serverOf(
  route: Route,
  kind: "tool" | "prompt" | "resource",
  name: string,
): string | undefined {
  const known = knownServers.getOrInsertComputed(route, () => new Map());
  const key = `${kind} ${name}`;
  if (known.has(key)) return known.get(key);
  const targets = route.backends.flatMap(({ backend }) => backend?.mcp ?? []);
  const owners = new Set(
    targets.map(({ servers }) =>
      owningServer(servers.map(({ settings }) => settings), kind, name)
    ),
  );
  const [only] = owners;
  const server = owners.size === 1 ? only : undefined;
  if (known.size >= MAX_NAMES) known.clear();
  if (name.length <= MAX_NAME_LENGTH) known.set(key, server);
  return server;
}
