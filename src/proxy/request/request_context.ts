import type { DiscoveryRole } from "../../mcp/discovery/discovery_tools.ts";
import type { RequestMessage } from "../../http/message.ts";
import type {
  PolicyContext,
  ReadableBy,
} from "../../policy/contract/policy.ts";
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import { Slots } from "../../policy/contract/slot.ts";
import type { ResponseCounts } from "../../llm/usage/token_usage.ts";
import { McpTargets } from "./mcp_targets.ts";
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
    return this.#mcpTargets?.mcpServer(kind, name);
  }

  discoveryRole(name: string): DiscoveryRole | undefined {
    return this.#mcpTargets?.discoveryRole(name);
  }

  get #mcpTargets(): McpTargets | undefined {
    const { route = this.#routed.findRoute()?.value } = this.#routed;
    return route && McpTargets.of(route);
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
