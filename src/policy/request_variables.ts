import { timestampValue, type Value } from "../cel/library.ts";
import { claimsValue, lazyMap } from "../cel/values.ts";
import type { Variables } from "../cel/variables.ts";
import type { HeaderList } from "../http/header_list.ts";
import type { PolicyContext } from "./policy.ts";
import { pathOf } from "./resource_url.ts";

/** A request as expressions see it. What they do not ask for is never made. */
export class RequestVariables implements Variables {
  readonly #context: PolicyContext;
  readonly #mcp: Value | undefined;

  /** @param mcp Read ahead by whoever evaluates, because the body has to be waited for; see `readMcpVariable`. */
  constructor(context: PolicyContext, mcp?: Value) {
    this.#context = context;
    this.#mcp = mcp;
  }

  get request(): Value {
    return fieldsValue(requestFields, this.#context);
  }

  get source(): Value {
    const { address, port } = this.#context.request.source;
    return claimsValue({ address, port });
  }

  get jwt(): Value | undefined {
    return claimsOf(this.#context.identity.jwt);
  }

  get apiKey(): Value | undefined {
    return claimsOf(this.#context.identity.apiKey);
  }

  get basicAuth(): Value | undefined {
    return claimsOf(this.#context.identity.basicAuth);
  }

  /** @throws {TypeError} When the body could not be read: `has(mcp.tool)` must not be false for what nobody has looked into. */
  get mcp(): Value {
    if (this.#mcp !== undefined) return this.#mcp;
    throw new TypeError("the body is not a JSON-RPC message that can be read");
  }

  get env(): Value {
    return fieldsValue(environmentFields, this.#context);
  }
}

/** By name: how a field is read; `undefined` when a request does not have it. */
type Fields = Readonly<
  Record<string, (context: PolicyContext) => Value | undefined>
>;

function fieldsValue(fields: Fields, context: PolicyContext): Value {
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

/** What a deployment tells its pods about themselves, and where the request came in. */
const environmentFields: Fields = {
  podName: () => Deno.env.get("POD_NAME"),
  namespace: () => Deno.env.get("POD_NAMESPACE"),
  gateway: ({ gateway }) => gateway,
};

/** Names in any case; a field that is repeated is a list. */
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
