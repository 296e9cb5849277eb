import * as s from "../../api/schema/schema.ts";
import {
  definePolicy,
  noProblems,
} from "../../policy/contract/define_policy.ts";
import type { PolicyKind } from "../../policy/contract/policy_kind.ts";
import {
  createRegistry,
  type PolicyRegistry,
} from "../../policy/contract/policy_registry.ts";
import { builtInPolicies } from "../../policy/registry.ts";
import { errorOf } from "../../telemetry/failures/explanation.ts";
import type { RecordedRequest } from "../../telemetry/failures/recorded_request.ts";
import { adaptHooks, type PolicyHooks } from "./library_hooks.ts";

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
        explain: (failed: RecordedRequest) => ({
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
      return adaptHooks(reason, definition.create(config));
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

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
