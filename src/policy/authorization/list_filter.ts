import { JsonProblem } from "../../base/json/json_ambiguity.ts";
import { runInSlices } from "../../base/slices.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { UNKNOWN } from "../cel/evaluation_failure.ts";
import {
  mcpMessage,
  mcpSubscriptions,
} from "../expressions/expression_slots.ts";
import {
  removeContentHeaders,
  replaceBody,
} from "../expressions/message_body.ts";
import { peekBody } from "../expressions/peeked_body.ts";
import { contentProblem } from "../expressions/readable_content.ts";
import { resolveTarget } from "../expressions/mcp_message.ts";
import {
  RequestVariables,
  type VariableSource,
} from "../expressions/request_variables.ts";
import { FilteredEvents, unreadableList } from "../mcp/filtered_events.ts";
import { errorMessage, readRequestId } from "../mcp/json_rpc.ts";
import { addToolJudge } from "../mcp/tool_judges.ts";
import { ListReader } from "../mcp/list_reader.ts";
import {
  listFacts,
  type ListName,
  listNames,
  listOfMethod,
  messageForItem,
} from "../mcp/mcp_lists.ts";
import { jwtClaims } from "../authentication/request_identity.ts";
import type { PolicyContext } from "../contract/policy.ts";
import type { PolicyServices } from "../contract/policy_services.ts";
import type { AuthorizationRule } from "./authorization_rule.ts";
import { withPrivateCache } from "./private_cache.ts";

type Services = Pick<PolicyServices, "clock" | "log" | "maxBufferBytes">;

/** Decisions about items of lists. */
interface ListRule {
  /** Result that every rule must have. */
  readonly passing: boolean;
  /** Items that need other scopes than those of the token are not listed. */
  readonly hidden: boolean;
}

/** A request whose response may have lists, as the rules saw it. */
interface WatchedRequest {
  readonly source: VariableSource;
  readonly sessionId: string | undefined;
  /** The request asks for a list; otherwise it may open a stream of events, in which lists can be. */
  readonly isForList: boolean;
  /** The JSON of the ID of a request for a list. */
  readonly id: string | undefined;
}

/**
 * Filters lists of tools, prompts and resources in responses, so that clients see what the rules let them use.
 *
 * Lists are where MCP has them: in responses to requests for a list, and in streams that belong to no request (those of HTTP+SSE, and
 * resumed ones). A list that cannot be read is an error. Streams also have news of resources: those that rules deny are dropped.
 */
export class ListFilter {
  readonly #rules: readonly AuthorizationRule[];
  readonly #rule: ListRule;
  readonly #services: Services;
  readonly #lists: readonly ListName[];
  readonly #reader: ListReader;
  readonly #watched = new WeakMap<PolicyContext, WatchedRequest>();

  /** Creates a filter for rules about tools, prompts or resources; `undefined` when there are none. */
  static create(
    rules: readonly AuthorizationRule[],
    rule: ListRule,
    services: Services,
  ): ListFilter | undefined {
    const lists = listNames.filter((name) =>
      rules.some(({ targets }) => targets.has(listFacts(name).target))
    );
    return lists.length === 0
      ? undefined
      : new ListFilter(rules, rule, lists, services);
  }

  private constructor(
    rules: readonly AuthorizationRule[],
    rule: ListRule,
    lists: readonly ListName[],
    services: Services,
  ) {
    this.#rules = rules.filter(({ bodyUse }) => bodyUse.mcp !== undefined);
    this.#rule = rule;
    this.#services = services;
    this.#lists = lists;
    this.#reader = new ListReader(lists, services.clock);
  }

  /** Remembers a request that the rules let pass, if its response may have lists, and asks for a response that can be read. */
  async watch(context: PolicyContext): Promise<void> {
    const { request, slots } = context;
    const { methodName, sessionId } = slots.get(mcpMessage) ??
      slots.get(mcpSubscriptions)?.[0] ?? {};
    const list = methodName === undefined
      ? undefined
      : listOfMethod(methodName);
    const isForList = list !== undefined && this.#lists.includes(list);
    // A POST without a method has a response, or no MCP message.
    const mayOpenStream = methodName === "subscriptions/listen" ||
      methodName === undefined && request.method === "GET";
    if (!isForList && !mayOpenStream) return;
    const id = isForList ? await readRequestId(request) : undefined;
    const source = copyForItems(context);
    if (list === "tools" && isForList) {
      addToolJudge(
        slots,
        (names) => this.#judgeTools(context, source, sessionId, names),
      );
    }
    this.#watched.set(context, { source, sessionId, isForList, id });
    const mayStream = request.headers.getJoined("accept")
      ?.includes("text/event-stream") ?? false;
    if (isForList || mayStream) {
      request.headers.set("accept-encoding", "identity");
    }
  }

  /**
   * Filters a response.
   * @throws {GatewayError} `list_unreadable`, `body_memory_full`
   */
  filter(
    context: PolicyContext,
    response: ResponseMessage,
  ): void | Promise<void> {
    const watched = this.#watched.get(context);
    const { body, headers, status } = response;
    // 202: the response comes in another stream.
    if (watched === undefined || body === undefined || status >= 300) return;
    if (status === 202 || response.tunnel !== undefined) return;
    const isStream = eventStream.test(headers.getJoined("content-type") ?? "");
    if (!isStream && !watched.isForList) return;
    const problem = contentProblem(headers);
    if (problem !== undefined) throw unreadableList(problem);
    withPrivateCache(headers);
    if (!isStream) return this.#filterWhole(context, watched, response);
    removeContentHeaders(headers);
    response.body = new FilteredEvents(body, {
      filter: (data) => this.#filterMessage(context, watched, data),
      maxBytes: this.#services.maxBufferBytes,
      onFailure: (error) => {
        this.#services.log.warn("Cannot filter a stream of events", {
          "request.id": context.requestId,
          error: error.message,
        });
        return watched.id === undefined ? undefined : errorEvent(watched.id);
      },
    });
  }

  async #filterWhole(
    context: PolicyContext,
    watched: WatchedRequest,
    response: ResponseMessage,
  ): Promise<void> {
    const { maxBufferBytes } = this.#services;
    const held = { body: response.body, held: context.request.held };
    const bytes = await peekBody(held, maxBufferBytes);
    response.body = held.body;
    if (bytes === undefined) {
      throw unreadableList(`it is longer than ${maxBufferBytes} bytes`);
    }
    try {
      const filtered = await this.#filterMessage(context, watched, bytes);
      if (filtered !== bytes) {
        replaceBody(response, filtered ?? new Uint8Array());
      }
    } catch (error) {
      if (!(error instanceof JsonProblem)) throw error;
      throw unreadableList(error.message);
    }
  }

  #filterMessage(
    context: PolicyContext,
    { source, sessionId }: WatchedRequest,
    bytes: Uint8Array,
  ): Promise<Uint8Array | undefined> {
    const { trace } = context;
    const variables = new RequestVariables(source);
    const hiddenBy = new Map<string, number>();
    return this.#reader.filter(bytes, (list, identifier) => {
      const isOwn = list === "tools" &&
        context.discoveryRole?.(identifier) !== undefined;
      if (isOwn) return true;
      const message = messageForItem(list, identifier, sessionId);
      source.slots.set(mcpMessage, resolveTarget(message, context, identifier));
      const rule = this.#findDenying(list, variables, source);
      if (rule === undefined) return true;
      hiddenBy.set(rule.shown, (hiddenBy.get(rule.shown) ?? 0) + 1);
      return false;
    }, (list, listed, hidden) => {
      const rules = [...hiddenBy].map(([rule, items]) => ({ rule, items }));
      hiddenBy.clear();
      const details = { list, listed, hidden, rules };
      trace?.report({ type: "policyEvent", kind: "authorization", details });
    });
  }

  /** Decides which tools a search finds, in slices as for a list. */
  #judgeTools(
    context: PolicyContext,
    source: VariableSource,
    sessionId: string | undefined,
    names: readonly string[],
  ): Promise<readonly boolean[]> {
    const variables = new RequestVariables(source);
    const isSeen = (name: string) => {
      const message = messageForItem("tools", name, sessionId);
      source.slots.set(mcpMessage, resolveTarget(message, context, name));
      return this.#findDenying("tools", variables, source) === undefined;
    };
    function* steps(): Generator<void, readonly boolean[]> {
      const verdicts: boolean[] = [];
      for (const name of names) {
        verdicts.push(isSeen(name));
        yield;
      }
      return verdicts;
    }
    return runInSlices(steps(), this.#services.clock);
  }

  /** Returns the first rule that denies every request for the item. */
  #findDenying(
    list: ListName,
    variables: RequestVariables,
    { slots }: VariableSource,
  ): AuthorizationRule | undefined {
    const { passing, hidden } = this.#rule;
    const mayStepUp = !hidden && slots.get(jwtClaims) !== undefined;
    return this.#rules.find((rule) => {
      const result = rule.testItem(list, variables);
      if (result === UNKNOWN || result === passing) return false;
      return !mayStepUp || !dependsOnScopes(rule, variables);
    });
  }
}

/** Reports whether a token with other scopes may change the result of a rule. */
function dependsOnScopes(
  { scopeCondition }: AuthorizationRule,
  variables: RequestVariables,
): boolean {
  return scopeCondition?.testWithoutScopes(variables) === UNKNOWN;
}

const eventStream = /^text\/event-stream(?:$|[\t ;])/i;

/** Copies what rules read: later policies change the request. Items are used with POST, also those of a stream that a GET opened. */
export function copyForItems(
  { request, client, slots, acceptedAt, gateway }: PolicyContext,
): VariableSource {
  const { scheme, authority, target, version, headers } = request;
  return {
    request: {
      method: "POST",
      scheme,
      authority,
      target,
      version,
      headers: headers.copy(),
    },
    client,
    slots: slots.copy(),
    acceptedAt,
    gateway,
  };
}

const INTERNAL_ERROR = -32603;

function errorEvent(id: string): Uint8Array {
  const message = "the gateway cannot read the list of the server";
  const data = errorMessage(id, INTERNAL_ERROR, message);
  return new TextEncoder().encode(`event: message\ndata: ${data}\n\n`);
}
