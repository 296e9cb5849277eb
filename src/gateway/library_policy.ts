import * as s from "../api/schema/schema.ts";
import { protectedHeaders } from "../base/protected_headers.ts";
import { textBody } from "../http/body.ts";
import { isFieldName, isFieldValue } from "../http/field_syntax.ts";
import { HeaderList } from "../http/header_list.ts";
import type { ResponseMessage } from "../http/message.ts";
import { definePolicy, noProblems } from "../policy/define_policy.ts";
import type { Policy, PolicyContext } from "../policy/policy.ts";
import type { PolicyKind } from "../policy/policy_kind.ts";
import {
  createRegistry,
  type PolicyRegistry,
} from "../policy/policy_registry.ts";
import { builtInPolicies } from "../policy/registry.ts";
import { Rejection } from "../policy/rejection.ts";
import { errorOf } from "../telemetry/failures/explanation.ts";
import type { FailedRequest } from "../telemetry/failures/failed_request.ts";

/** Types of settings. */
export interface PolicySettingTypes {
  /** A string of at most 4096 characters. */
  readonly text: string;
  /** A string that traces and `/config_dump` hide. */
  readonly secret: string;
  /** A whole number. */
  readonly integer: number;
  /** `true` or `false`. */
  readonly boolean: boolean;
  /** A list of at most 256 strings. */
  readonly texts: readonly string[];
}

/** A required field of a policy's configuration. */
export interface PolicySetting {
  /** Type of its value. */
  readonly type: keyof PolicySettingTypes;
  /** One sentence for the person who writes the configuration. */
  readonly description: string;
}

/** Settings of a policy, by name. */
export type PolicySettings = Readonly<Record<string, PolicySetting>>;

/** Values of settings, by name. */
export type PolicyValues<F extends PolicySettings> = {
  readonly [Name in keyof F]: PolicySettingTypes[F[Name]["type"]];
};

/** Definition of a kind of policy. */
export interface PolicyDefinition<F extends PolicySettings> {
  /** Field under `policies` of a route, such as `maintenance`; also the reason in log and metrics, in snake case. */
  readonly name: string;
  /** One sentence. */
  readonly description: string;
  /** Fields of its configuration, by name. */
  readonly settings: F;
  /** Request headers with credentials for this policy, which traces hide; none by default. */
  readonly secretHeaders?: readonly string[];
  /** Creates the policy for one configuration. */
  create(values: PolicyValues<F>): PolicyHooks;
}

/** Effects of a policy on requests and responses. If a hook throws, or its result is invalid, the client gets 500. */
export interface PolicyHooks {
  /** Called before the request goes upstream; a result rejects the request. */
  onRequest?(
    request: PolicyRequest,
  ): PolicyRejection | undefined | Promise<PolicyRejection | undefined>;
  /** Called with each response, including those of rejections. */
  onResponse?(
    response: PolicyResponse,
    request: PolicyRequest,
  ): void | Promise<void>;
}

/** A request in the gateway. */
export interface PolicyRequest {
  /** Value of `x-request-id`. */
  readonly id: string;
  /** Case-sensitive, such as `GET`. */
  readonly method: string;
  /** `http` or `https`: scheme of the client's connection. */
  readonly scheme: string;
  /** `host` or `host:port`. */
  readonly authority: string;
  /** Path and query, such as `/a?b=1`. */
  readonly target: string;
  /** IP address of the client. */
  readonly clientAddress: string;
  /** Headers for the upstream. */
  readonly headers: PolicyHeaders;
}

/** A response in the gateway. */
export interface PolicyResponse {
  /** Status of the upstream, or of the gateway's own response. */
  readonly status: number;
  /** Headers for the client. */
  readonly headers: PolicyHeaders;
}

/** Response to a request that a policy rejects. */
export interface PolicyRejection {
  /** From 200 to 599. */
  readonly status: number;
  /** One sentence for log and trace, without secrets; the client does not see it. */
  readonly message: string;
  /** Headers for the client; none by default. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Body for the client; none by default. */
  readonly body?: string;
}

/** Headers of a message; names are case-insensitive. */
export interface PolicyHeaders {
  /** Returns the value, or repeated values joined by commas; `undefined` when there is none. */
  get(name: string): string | undefined;
  /** Replaces all values. @throws {TypeError} For an invalid name or value, and for headers that only the gateway writes. */
  set(name: string, value: string): void;
  /** Removes all values. @throws {TypeError} For headers that only the gateway writes. */
  delete(name: string): void;
}

/** A kind of policy for `startGateway`. */
export interface LibraryPolicy {
  /** Field that configures it, such as `maintenance`. */
  readonly name: string;
}

const kinds = new WeakMap<LibraryPolicy, PolicyKind>();

/**
 * Creates a kind of policy, which routes configure under `policies` and `GatewayPolicy` resources under `traffic`. It runs after
 * authentication, authorization and rate limits.
 */
export function createPolicy<const F extends PolicySettings>(
  definition: PolicyDefinition<F>,
): LibraryPolicy {
  const { name, description, secretHeaders = [], settings } = definition;
  const reason = snakeCase(name);
  const kind = definePolicy(name, {
    description,
    schema: schemaOf(settings),
    phases: ["route", "gateway"],
    merge: "replace",
    access: {
      identity: undefined,
      isRequired: () => false,
      credentials: () => secretHeaders.map((name) => ({ header: { name } })),
    },
    trace: { event: reason, stage: name, selection: name },
    rejections: {
      [reason]: {
        explain: (failed: FailedRequest) => ({
          cause: `Policy "${name}" rejected the request: ${errorOf(failed)}.`,
          failing: undefined,
          advice: `Compare the request with the configuration of \`${name}\`.`,
        }),
      },
    },
  }, {
    check: noProblems,
    create: (config) => {
      if (!hasSettings(config, settings)) {
        throw new TypeError(`Cannot create policy "${name}"`);
      }
      return adapt(reason, definition.create(config));
    },
  });
  const policy = { name };
  kinds.set(policy, kind);
  return policy;
}

/**
 * Creates a registry of the built-in policies and others.
 * @throws {TypeError} If two have the same name, or one is not from `createPolicy`.
 */
export function registryWith(
  policies: readonly LibraryPolicy[] = [],
): PolicyRegistry {
  if (policies.length === 0) return builtInPolicies;
  const own = policies.map((policy) => {
    const kind = kinds.get(policy);
    if (kind !== undefined) return kind;
    throw new TypeError(
      `Cannot use policy "${policy.name}": call createPolicy`,
    );
  });
  const at = builtInPolicies.kinds.findIndex(({ name }) =>
    name === "transformation"
  );
  return createRegistry(builtInPolicies.kinds.toSpliced(at, 0, ...own));
}

function schemaOf(settings: PolicySettings) {
  const entries = Object.entries(settings).map((
    [name, { type, description }],
  ) => [name, s.field(description, schemas[type]())] as const);
  return s.object(Object.fromEntries(entries));
}

const schemas = {
  text: () => s.text(4096, 0),
  secret: s.secret,
  integer: () => s.integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  boolean: s.boolean,
  texts: () => s.list(s.text(4096, 0)),
} satisfies Record<keyof PolicySettingTypes, () => s.GenericSchema>;

/** Returns whether a configuration has the fields, as the schema has ensured. */
function hasSettings<F extends PolicySettings>(
  config: object,
  settings: F,
): config is PolicyValues<F> {
  return Object.keys(settings).every((name) => Object.hasOwn(config, name));
}

function adapt(
  reason: string,
  { onRequest, onResponse }: PolicyHooks,
): Policy<string> {
  const toOutcome = (
    rejection: PolicyRejection | undefined,
    { trace }: PolicyContext,
  ) => {
    if (rejection === undefined) {
      trace?.apply({});
      return undefined;
    }
    return new Rejection(reason, rejection.message, responseOf(rejection));
  };
  return {
    ...(onRequest !== undefined && {
      onRequest(context) {
        const result = onRequest(requestOf(context));
        return result instanceof Promise
          ? result.then((rejection) => toOutcome(rejection, context))
          : toOutcome(result, context);
      },
    }),
    ...(onResponse !== undefined && {
      onResponse: (context, { status, headers }) =>
        onResponse(
          { status, headers: new CheckedHeaders(headers) },
          requestOf(context),
        ),
    }),
  };
}

function requestOf({ request, requestId }: PolicyContext): PolicyRequest {
  const { method, scheme, authority, target, source, headers } = request;
  return {
    id: requestId,
    method,
    scheme,
    authority,
    target,
    clientAddress: source.address,
    headers: new CheckedHeaders(headers),
  };
}

function responseOf(
  { status, headers = {}, body }: PolicyRejection,
): ResponseMessage {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new TypeError(
      `Cannot respond with status ${status}: expected 200 to 599`,
    );
  }
  const list = new HeaderList();
  const checked = new CheckedHeaders(list);
  for (const [name, value] of Object.entries(headers)) checked.set(name, value);
  return {
    status,
    headers: list,
    body: body === undefined ? undefined : textBody(body),
  };
}

/** Headers that reject invalid fields, which could split a message. */
class CheckedHeaders implements PolicyHeaders {
  readonly #headers: HeaderList;

  constructor(headers: HeaderList) {
    this.#headers = headers;
  }

  get(name: string): string | undefined {
    return this.#headers.getJoined(name.toLowerCase());
  }

  set(name: string, value: string): void {
    if (!isFieldValue(value)) {
      throw new TypeError(`Cannot set header "${name}": the value is invalid`);
    }
    this.#headers.set(writableName(name), value);
  }

  delete(name: string): void {
    this.#headers.delete(writableName(name));
  }
}

function writableName(name: string): string {
  const lower = name.toLowerCase();
  if (!isFieldName(name)) {
    throw new TypeError("Cannot change a header: the name is invalid");
  }
  if (protectedHeaders.has(lower)) {
    throw new TypeError(
      `Cannot change header "${name}": the gateway writes it`,
    );
  }
  return lower;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
