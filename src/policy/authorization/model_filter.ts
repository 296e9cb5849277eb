import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import { BoundedJson } from "../../base/json/bounded_json.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { isModelList } from "../../llm/providers/operation.ts";
import { llmRequest } from "../expressions/expression_slots.ts";
import { replaceBody } from "../expressions/message_body.ts";
import { peekBody } from "../expressions/peeked_body.ts";
import { contentProblem } from "../expressions/readable_content.ts";
import {
  RequestVariables,
  type VariableSource,
} from "../expressions/request_variables.ts";
import { unreadableList } from "../mcp/filtered_events.ts";
import type { PolicyContext } from "../contract/policy.ts";
import type { AuthorizationRule } from "./authorization_rule.ts";
import { copyForItems } from "./list_filter.ts";
import { withPrivateCache } from "./private_cache.ts";

/** Each model takes an evaluation of all rules. */
const MAX_MODELS = 5000;
/** Limit of the JSON values of a list. */
const MAX_VALUES = 100_000;

/** Filters lists of models by rules about `llm.requestModel`, so that clients see the models that they may use. */
export class ModelFilter {
  /** The rules that decide on requests for a list. */
  readonly others: AuthorizationRule[];
  readonly #rules: readonly AuthorizationRule[];
  readonly #passing: boolean;
  readonly #maxBytes: number;
  readonly #watched = new WeakMap<PolicyContext, VariableSource>();

  /**
   * Creates a filter; `undefined` when no rule is about the model.
   * @param passing Result that every rule must have.
   */
  static create(
    rules: readonly AuthorizationRule[],
    passing: boolean,
    { maxBufferBytes }: { readonly maxBufferBytes: number },
  ): ModelFilter | undefined {
    return rules.some(({ readsModel }) => readsModel)
      ? new ModelFilter(rules, passing, maxBufferBytes)
      : undefined;
  }

  private constructor(
    rules: readonly AuthorizationRule[],
    passing: boolean,
    maxBytes: number,
  ) {
    this.#rules = rules.filter(({ readsModel }) => readsModel);
    this.others = rules.filter(({ readsModel }) => !readsModel);
    this.#passing = passing;
    this.#maxBytes = maxBytes;
  }

  /** Remembers a request for models, and requests a list that can be read; returns whether it is one. */
  watch(context: PolicyContext): boolean {
    const { request } = context;
    if (!isModelList(request.method, request.target)) return false;
    this.#watched.set(context, copyForItems(context));
    request.headers.set("accept-encoding", "identity");
    return true;
  }

  /**
   * Filters a list of models.
   * @throws {GatewayError} `list_unreadable`
   */
  filter(
    context: PolicyContext,
    response: ResponseMessage,
  ): Promise<void> | undefined {
    const source = this.#watched.get(context);
    return source === undefined || response.status >= 300
      ? undefined
      : this.#filter(context, source, response);
  }

  async #filter(
    context: PolicyContext,
    source: VariableSource,
    response: ResponseMessage,
  ): Promise<void> {
    const { headers } = response;
    const problem = contentProblem(headers);
    if (problem !== undefined) throw unreadableList(problem);
    const bytes = await peekBody(response, this.#maxBytes);
    if (bytes === undefined) {
      throw unreadableList(`it is longer than ${this.#maxBytes} bytes`);
    }
    const list = new BoundedJson(MAX_VALUES)
      .parse(new TextDecoder().decode(bytes));
    const name = isJsonObject(list) && Array.isArray(list["models"])
      ? "models"
      : "data";
    const items = isJsonObject(list) ? list[name] : undefined;
    if (!isJsonObject(list) || !Array.isArray(items)) {
      throw unreadableList("it has no list of models");
    }
    if (items.length > MAX_MODELS) {
      throw unreadableList(`it has more than ${MAX_MODELS} models`);
    }
    withPrivateCache(headers);
    const shown = items.filter(isJsonObject).filter((item) =>
      this.#isUsable(item, source)
    );
    const hidden = items.length - shown.length;
    const details = { list: "models", listed: items.length, hidden };
    context.trace?.report({
      type: "policyEvent",
      kind: "authorization",
      details,
    });
    if (hidden === 0) return;
    const ends = Object.hasOwn(list, "first_id")
      ? { first_id: shown[0]?.["id"], last_id: shown.at(-1)?.["id"] }
      : {};
    const rest = { ...list, [name]: shown, ...ends };
    replaceBody(response, new TextEncoder().encode(JSON.stringify(rest)));
  }

  #isUsable(item: JsonObject, source: VariableSource): boolean {
    const model = stringMember(item, "id") ??
      stringMember(item, "name")?.replace(/^models\//, "");
    if (model === undefined) return false;
    source.slots.set(llmRequest, { requestModel: model, streaming: false });
    const variables = new RequestVariables(source);
    return this.#rules.every((rule) =>
      rule.testAnew(variables) === this.#passing
    );
  }
}
