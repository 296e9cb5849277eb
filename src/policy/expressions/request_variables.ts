import { timestampValue, type Value } from "../cel/library.ts";
import { claimsValue, lazyMap } from "../cel/values.ts";
import type { Variables } from "../cel/variables.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import { pathOf } from "../../route/normalize_target.ts";
import {
  apiKeyMetadata,
  authorizerMetadata,
  basicAuthUser,
  jwtClaims,
} from "../authentication/request_identity.ts";
import { llmRequest, mcpMessage } from "./expression_slots.ts";
import { llmValue } from "./llm_usage.ts";
import { mcpValue } from "./mcp_variable.ts";
import { type BodyText, UnreadableBody } from "./message_body.ts";
import type { PolicyContext } from "../contract/policy.ts";

/** Messages for transformations. The texts are set if an expression reads them. */
export interface TransformedMessages {
  readonly requestText?: BodyText | undefined;
  /** Set when the response is transformed. */
  readonly response?: ResponseMessage;
  readonly responseText?: BodyText | undefined;
}

/** The part of a request that expressions read. */
export interface VariableSource extends
  Pick<
    PolicyContext,
    "acceptedAt" | "client" | "gateway" | "slots" | "responseUsage"
  > {
  readonly request: Pick<
    RequestMessage,
    | "method"
    | "scheme"
    | "authority"
    | "target"
    | "version"
    | "headers"
  >;
}

/** Variables of a request; values are created on first use. */
export class RequestVariables implements Variables {
  readonly #context: VariableSource;
  readonly #messages: TransformedMessages | undefined;

  constructor(context: VariableSource, messages?: TransformedMessages) {
    this.#context = context;
    this.#messages = messages;
  }

  get request(): Value {
    const text = this.#messages?.requestText;
    if (text === undefined) return fieldsValue(requestFields, this.#context);
    return fieldsValue(
      { ...requestFields, body: () => bodyValue(text) },
      this.#context,
    );
  }

  get response(): Value | undefined {
    const { response, responseText } = this.#messages ?? {};
    if (response === undefined) return undefined;
    const { status, headers } = response;
    return fieldsValue({
      code: () => BigInt(status),
      headers: () => headersValue(headers),
      body: () =>
        responseText === undefined ? undefined : bodyValue(responseText),
    }, this.#context);
  }

  get source(): Value {
    const { address, port } = this.#context.client;
    return claimsValue({ address, port });
  }

  get jwt(): Value | undefined {
    return claimsOf(this.#context.slots.get(jwtClaims));
  }

  get apiKey(): Value | undefined {
    return claimsOf(this.#context.slots.get(apiKeyMetadata));
  }

  get extAuthz(): Value | undefined {
    return claimsOf(this.#context.slots.get(authorizerMetadata));
  }

  get basicAuth(): Value | undefined {
    return claimsOf(this.#context.slots.get(basicAuthUser));
  }

  /**
   * @throws {TypeError} If the body was unreadable, or was not read before (`readBodyVariables`): `has(mcp.tool)` must not be false
   * for an unread body.
   */
  get mcp(): Value {
    const message = this.#context.slots.get(mcpMessage);
    if (message !== undefined) return mcpValue(message);
    throw new TypeError("the body is not a JSON-RPC message that can be read");
  }

  get llm(): Value {
    const { slots, responseUsage } = this.#context;
    return llmValue(slots.get(llmRequest), responseUsage?.usage);
  }

  get env(): Value {
    return fieldsValue(environmentFields, this.#context);
  }
}

/** Readers of fields, by name; they return `undefined` if a request does not have the field. */
type Fields = Readonly<
  Record<string, (context: VariableSource) => Value | undefined>
>;

function fieldsValue(fields: Fields, context: VariableSource): Value {
  return lazyMap(
    () => Object.keys(fields),
    (name) => Object.hasOwn(fields, name) ? fields[name]?.(context) : undefined,
  );
}

const requestFields: Fields = {
  method: ({ request: { method } }) => method,
  uri: ({ request: { scheme, authority, target } }) =>
    `${scheme}://${authority}${target}`,
  host: ({ request: { authority } }) =>
    authority.replace(/:\d*$/, "").toLowerCase(),
  scheme: ({ request: { scheme } }) => scheme,
  path: ({ request: { target } }) => pathOf(target),
  pathAndQuery: ({ request: { target } }) => target,
  version: ({ request: { version } }) => `HTTP/${version}`,
  headers: ({ request: { headers } }) => headersValue(headers),
  startTime: ({ acceptedAt }) => timestampValue(acceptedAt),
};

/** Names of the pod, from the environment, and of the gateway that accepted the request. */
const environmentFields: Fields = {
  podName: () => Deno.env.get("POD_NAME"),
  namespace: () => Deno.env.get("POD_NAMESPACE"),
  gateway: ({ gateway }) => gateway,
};

/** @throws {TypeError} If the body is unreadable: `has(request.body)` must not be false for an unread body. */
function bodyValue(text: BodyText): Value {
  if (text instanceof UnreadableBody) throw new TypeError(text.message);
  return text;
}

/** Creates the value of `headers`: names match in any case, and a repeated field is a list. */
function headersValue(headers: HeaderList): Value {
  return lazyMap(
    () => new Set([...headers].map(([name]) => name.toLowerCase())),
    (name) => {
      const values = headers.getAll(name.toLowerCase());
      return values.length > 1 ? values : values[0];
    },
  );
}

function claimsOf(
  claims: Readonly<Record<string, unknown>> | undefined,
): Value | undefined {
  return claims && claimsValue(claims);
}
