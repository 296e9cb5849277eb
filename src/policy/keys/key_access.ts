import { JsonSelection, WHOLE } from "../../base/json/json_shape.ts";
import type { Hide } from "../../base/redaction.ts";
import {
  isInRange,
  parseIpAddress,
  parseIpRange,
} from "../../base/wire/ip_address.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { detectLlmApi } from "../../llm/llm_api.ts";
import { createAuthorization } from "../authorization/authorization_policy.ts";
import type { Policy, PolicyContext } from "../contract/policy.ts";
import type { PolicyServices } from "../contract/policy_services.ts";
import { Rejection } from "../contract/rejection.ts";
import { readJsonBody } from "../expressions/json_body.ts";
import type { CallerAllow, KeyCaller } from "./key_caller.ts";
import { denyByKey, valueIn } from "./key_denial.ts";
import type { KeyAllow } from "./key_objects.ts";

/** Largest body of a request to an LLM that is searched for an MCP message. */
const MAX_LLM_BYTES = 8 * 1024 * 1024;
/** Members that requests to LLMs do not have. */
const rpcMembers = new JsonSelection({ jsonrpc: WHOLE, method: WHOLE });

type Denial = Rejection<"api_key_access">;

/** Enforces one object's `allow`: that of a key, a user or a team. */
export class KeyAccess implements Policy<"api_key_access"> {
  readonly #isAllowedAddress: Test<string>;
  readonly #isAllowedRoute: Test<string | undefined>;
  readonly #models:
    | { readonly ofLlm: Policy; readonly others: Policy }
    | undefined;
  readonly #mcp: Policy | undefined;
  /** Fields that the rules of `#mcp` are about. */
  readonly #mcpFields: readonly ("tools" | "mcpServers")[];
  readonly #deny: (
    field: keyof KeyAllow,
    name?: string,
    response?: ResponseMessage,
  ) => Denial;

  constructor(
    caller: KeyCaller,
    own: CallerAllow,
    services: PolicyServices,
  ) {
    const { addresses, routes, models, mcpServers, tools } = own.allow;
    this.#deny = (field, name, response) =>
      denyByKey(caller, own, field, name, response);
    this.#isAllowedAddress = addressTest(addresses);
    this.#isAllowedRoute = routeTest(routes);
    const create = (...matchExpressions: readonly string[]) =>
      createAuthorization({
        action: "Allow",
        denial: "Http403",
        policy: { matchExpressions },
      }, { hide: hideNothing(), services, reports: false });
    const model = models && expressionOf("llm.requestModel", models);
    this.#models = model === undefined ? undefined : {
      // A provider may have a default for a request without a model.
      ofLlm: create(`has(llm.requestModel) && ${model}`),
      others: create(`!has(llm.requestModel) || ${model}`),
    };
    const rules = [
      ...tools === undefined
        ? []
        : [`!has(mcp.tool) || ${expressionOf("mcp.tool.name", tools)}`],
      ...mcpServers === undefined ? [] : [
        `!has(mcp.tool) && !has(mcp.prompt) && !has(mcp.resource) || has(mcp.server) && ${
          expressionOf("mcp.server", mcpServers)
        }`,
      ],
    ];
    this.#mcpFields = [
      ...tools === undefined ? [] : ["tools" as const],
      ...mcpServers === undefined ? [] : ["mcpServers" as const],
    ];
    this.#mcp = rules.length === 0 ? undefined : create(...rules);
  }

  onRequest(
    context: PolicyContext,
  ): Denial | undefined | Promise<Denial | undefined> {
    if (!this.#isAllowedAddress(context.client.address)) {
      return this.#deny("addresses", quoted(context.client.address));
    }
    if (!this.#isAllowedRoute(context.route)) {
      return this.#deny("routes", quoted(context.route));
    }
    if (this.#models === undefined && this.#mcp === undefined) return undefined;
    return this.#readAndDecide(context);
  }

  onResponse(
    context: PolicyContext,
    response: ResponseMessage,
  ): void | Promise<void> {
    if (this.#models === undefined && this.#mcp === undefined) return;
    return this.#filter(context, response);
  }

  async #filter(
    context: PolicyContext,
    response: ResponseMessage,
  ): Promise<void> {
    await this.#mcp?.onResponse?.(context, response);
    await this.#modelsOf(context)?.onResponse?.(context, response);
  }

  async #readAndDecide(context: PolicyContext): Promise<Denial | undefined> {
    const byModel = await this.#modelsOf(context)?.onRequest?.(context);
    if (byModel instanceof Rejection) {
      const model = valueIn(byModel.verdict, "llm.requestModel");
      return this.#deny("models", model, byModel.response);
    }
    if (!await this.#isMcp(context)) return undefined;
    const byTool = await this.#mcp?.onRequest?.(context);
    if (!(byTool instanceof Rejection)) return undefined;
    const field = this.#fieldOf(byTool.verdict);
    const variable = field === "tools" ? "mcp.tool.name" : "mcp.server";
    return this.#deny(
      field,
      valueIn(byTool.verdict, variable),
      byTool.response,
    );
  }

  #fieldOf(verdict: Rejection["verdict"]): "tools" | "mcpServers" {
    const index = verdict?.type === "authorizationResult"
      ? verdict.rules.findIndex(({ matched }) => !matched)
      : 0;
    return this.#mcpFields[index] ?? "tools";
  }

  #modelsOf({ request }: PolicyContext): Policy | undefined {
    const { method, target } = request;
    return detectLlmApi(method, target) === undefined
      ? this.#models?.others
      : this.#models?.ofLlm;
  }

  /** Requests to an LLM are no MCP messages, unless their body may be one. */
  async #isMcp({ request }: PolicyContext): Promise<boolean> {
    if (this.#mcp === undefined) return false;
    if (detectLlmApi(request.method, request.target) === undefined) return true;
    const body = await readJsonBody(request, MAX_LLM_BYTES, rpcMembers);
    return body === undefined || body !== null && Object.keys(body).length > 0;
  }
}

function quoted(name: string | undefined): string | undefined {
  return name === undefined ? undefined : JSON.stringify(name);
}

type Test<T> = (value: T) => boolean;

function addressTest(allowed: readonly string[] | undefined): Test<string> {
  if (allowed === undefined) return () => true;
  const ranges = allowed.flatMap((text) => parseIpRange(text) ?? []);
  return rememberLast((text) => {
    const address = parseIpAddress(text);
    return address !== undefined &&
      ranges.some((range) => isInRange(address, range));
  });
}

function routeTest(
  allowed: readonly string[] | undefined,
): Test<string | undefined> {
  if (allowed === undefined) return () => true;
  return rememberLast((route) =>
    route !== undefined && allowed.some((pattern) => {
      const name = pattern.includes("/")
        ? route
        : route.split("/").at(-1) ?? "";
      return pattern.endsWith("*")
        ? name.startsWith(pattern.slice(0, -1))
        : name === pattern;
    })
  );
}

/** Tests a value again only if it differs from the one before: the requests of a caller often agree in it. */
function rememberLast<T>(test: Test<T>): Test<T> {
  let last: { readonly value: T; readonly result: boolean } | undefined;
  return (value) => {
    if (last === undefined || last.value !== value) {
      last = { value, result: test(value) };
    }
    return last.result;
  };
}

/** Returns the condition that a string is one of some, or begins as one that ends with `*`. */
function expressionOf(field: string, allowed: readonly string[]): string {
  const exact = allowed.filter((text) => !text.endsWith("*"));
  const prefixes = allowed.filter((text) => text.endsWith("*"));
  const parts = [
    ...exact.length === 0 ? [] : [`${field} in ${JSON.stringify(exact)}`],
    ...prefixes.map((text) =>
      `${field}.startsWith(${JSON.stringify(text.slice(0, -1))})`
    ),
  ];
  return parts.length === 0 ? "false" : `(${parts.join(" || ")})`;
}

/** Each caller has its own function, so that its compiled expressions are forgotten with it. */
function hideNothing(): Hide {
  return (text) => text;
}
