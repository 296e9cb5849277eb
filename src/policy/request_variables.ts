import type { Value } from "../cel/library.ts";
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
    const { request } = this.#context;
    return lazyMap(() => Object.keys(requestFields), (name) => {
      const read = Object.hasOwn(requestFields, name)
        ? requestFields[name]
        : undefined;
      return read?.(request);
    });
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
    return environmentValue();
  }
}

type Read = (request: PolicyContext["request"]) => Value;

const requestFields: Readonly<Record<string, Read>> = {
  method: ({ method }) => method,
  uri: ({ scheme, authority, target }) => `${scheme}://${authority}${target}`,
  host: ({ authority }) => authority.replace(/:\d*$/, "").toLowerCase(),
  scheme: ({ scheme }) => scheme,
  path: ({ target }) => pathOf(target),
  pathAndQuery: ({ target }) => target,
  version: ({ version }) => `HTTP/${version}`,
  headers: ({ headers }) => headersValue(headers),
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

let environment: Readonly<Record<string, unknown>> | undefined;

/** What a deployment tells its pods about themselves; a field that is not set is not there. */
function environmentValue(): Value {
  const known = environment ?? Object.fromEntries(
    [["podName", "POD_NAME"], ["namespace", "POD_NAMESPACE"]]
      .map(([field, name = ""]) => [field, Deno.env.get(name)])
      .filter(([, value]) => value !== undefined),
  );
  environment = known;
  return claimsValue(known);
}
