import type { SecretRef } from "../../api/resources/credentials/secret_value.ts";
import type {
  PolicyField,
  TrafficPolicy,
} from "../../api/resources/gateway_policy_schema.ts";
import type {
  PolicyBackendRef,
} from "../../api/resources/policy_references.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import type { Hide } from "../../base/redaction.ts";
import type { EgressTarget } from "../../base/wire/egress_policy.ts";
import type { Explain } from "../../telemetry/failures/explanation.ts";
import type { CredentialLocation } from "./credential_location.ts";
import type { Identity } from "./identity.ts";
import type {
  Policy,
  PolicyContext,
  PolicyOutcome,
  RunningKind,
  RunningPolicy,
} from "./policy.ts";
import type { BackendAccess, PolicyServices } from "./policy_services.ts";
import type * as s from "../../api/schema/schema.ts";

/** A problem of a policy's configuration; `path` starts inside that configuration. */
export interface PolicyProblem {
  readonly path: DiagnosticPath;
  readonly message: string;
  /** A value that may have been intended. */
  readonly suggestion?: string | undefined;
  /** Position in the string at `path`, in UTF-16 units. */
  readonly offset?: number;
  /** The policy can run, though probably not as intended. */
  readonly isWarning?: true;
  /** Name of an identity, such as `jwt`: the problem is one only where no policy verifies it. */
  readonly unlessVerified?: string;
  /** Another problem, which is reported where it is, is the cause. */
  readonly isConsequence?: true;
}

/** Reads a text file by its path in the configuration; throws when it cannot. */
export type ReadFile = (path: string) => string;

/** Dependencies of checking a policy's configuration. */
export interface CheckOptions {
  /** Reads the files that the configuration names. */
  readonly readFile: ReadFile;
  /**
   * Redacts strings of the configuration for log, trace and metrics. Each configuration has its own function, which also keys the
   * cache of compiled expressions.
   */
  readonly hide: Hide;
}

/** Dependencies of creating a policy for one place where it runs. */
export interface PolicyOptions
  extends CheckOptions, BackendAccess, SecretAccess {
  /** Port of the listener that accepted the request. */
  readonly listenerPort: number;
  /** Resource with the configuration, such as `default/login`. */
  readonly owner: string;
  readonly services: PolicyServices;
}

/** Access to the Secrets that a policy's configuration names. */
export interface SecretAccess {
  /**
   * Returns an entry of a Secret as text. @param entry Default of `key`.
   * @throws {UnusableReferenceError} When it cannot be used; a policy whose creation throws this denies every request.
   */
  readSecret(ref: SecretRef, entry: string): string;
}

/** A reference that cannot be used. */
export class UnusableReferenceError extends Error {}

/** Resources that a policy's configuration may refer to. */
export interface References extends SecretAccess {
  /** Returns a backend; `undefined` when it does not exist. */
  backend(ref: PolicyBackendRef): ReferencedBackend | undefined;
  /** Describes a reference to a backend that does not exist. @param path Of the reference. */
  missing(ref: PolicyBackendRef, path: DiagnosticPath): PolicyProblem;
  /** Returns why a host is denied; see `EgressPolicy.denialOf`. */
  denialOf(target: EgressTarget): string | undefined;
  /** True if the process has the store of `config.kv`. */
  readonly hasStore: boolean;
}

/** A backend that a policy's configuration refers to. */
export interface ReferencedBackend {
  /** Such as `default/idp`. */
  readonly key: string;
  readonly port: number;
  readonly protocol: string;
  readonly hasTls: boolean;
}

/** Access of callers that a policy decides. */
export interface PolicyAccess<C, Reason extends string = string> {
  /** Identity that the policy verifies; `undefined` when it authenticates nobody. */
  readonly identity: Identity | undefined;
  /** Reason of rejected credentials, for kinds with the mode `AnyOf`. */
  readonly alternative?: Reason;
  /** Reports whether requests without any credential are rejected. */
  isRequired(config: C): boolean;
  /** Returns where requests carry credentials; logs and traces redact them. */
  credentials(config: C): readonly CredentialLocation[];
}

/** Facts of a kind for traces. */
export interface PolicyTraceFacts<C> {
  /** `kind` of its events, such as `api_key`; `undefined` for kinds that report with events of their own. */
  readonly event: string | undefined;
  /** Stage of the snapshot after a change, such as `api key`. */
  readonly stage: string | RunningKind["trace"]["stageOf"];
  /** Name of its configuration in `policySelection`, such as `apiKey`; or the parts that have a name each. */
  readonly selection:
    | string
    | Readonly<Record<string, (config: C) => unknown>>;
}

/** Facts of one reason for which a policy rejects requests. */
export interface RejectionFacts {
  /** Explains a rejected request, for `gwctl explain`. */
  readonly explain: Explain;
  /** `kind` of the trace event of a remembered request; that of the policy's own events unless given. */
  readonly event?: string;
}

/** Everything about a kind besides its code. All of it is there when the process starts. */
export interface PolicyFacts<C, Reason extends string> {
  /** One sentence for editors and the reference. */
  readonly description: string;
  readonly schema: s.GenericSchema<unknown, unknown>;
  /** Every kind runs after routing. */
  readonly phases: readonly [
    "route",
    ...Exclude<PolicyField["phases"][number], "route">[],
  ];
  /** `open` for policies that let every caller pass. */
  readonly access: PolicyAccess<C, Reason> | "open";
  /** Default: the name of the kind, such as `url_rewrite`, `url rewrite` and `urlRewrite`. */
  readonly trace?: PolicyTraceFacts<C>;
  /** By reason, which log, metrics and `/debug/failures` have: `{ api_key_auth: { explain } }`. */
  readonly rejections: Readonly<Record<Reason, RejectionFacts>>;
  /** Responds to every request, so that a route needs no backend. */
  readonly respondsAlways?: true;
  /** Finds problems of references to other resources. */
  checkReferences?(config: C, references: References): readonly PolicyProblem[];
  /** Returns the places of documents about a path that the policy protects (RFC 8615); `undefined` for configurations without. */
  wellKnown?(config: C): WellKnown | undefined;
  /** Returns paths at which the policy responds itself, on all hosts of a route. */
  ownPaths?(config: C): readonly string[];
}

/** Paths of documents about a protected path. */
export interface WellKnown {
  /** Followed by the protected path. */
  readonly prefixes: readonly string[];
  /** For the only protected path of its hosts. */
  readonly root: string;
  /** Responds where clients look below `prefixes` for documents that do not exist. */
  notFound(context: PolicyContext): PolicyOutcome;
}

/** The code of a kind each of whose configurations becomes a policy. */
export interface PolicyCode<C, Reason extends string> {
  /** Finds the problems that the schema cannot express. */
  check(config: C, options: CheckOptions): readonly PolicyProblem[];
  /** Creates the policy; `check` has found no problem except warnings. */
  create(config: C, options: PolicyOptions): Policy<Reason>;
}

/** The code of a kind whose configurations become one policy together. */
export interface CombinedCode<C, Reason extends string> {
  check(config: C, options: CheckOptions): readonly PolicyProblem[];
  create(layers: readonly CombinedLayer<C>[]): Policy<Reason>;
}

/** One of several configurations that make a policy together. */
export interface CombinedLayer<C> {
  /** Target of the policy, such as `HTTPRoute/default/llm`. */
  readonly scope: string;
  readonly config: C;
  readonly options: PolicyOptions;
}

/** Code, or a function that loads it when a configuration needs it. */
export type Loadable<Code> = Code | (() => Promise<Code>);

/** A kind of policy, whatever the type of its configuration. */
export interface PolicyKind extends RunningKind, PolicyField {
  /** `replace`: the most specific configuration counts; `accumulate`: all of them apply, the least specific first. */
  readonly merge: "replace" | "accumulate";
  readonly respondsAlways: boolean;
  readonly rejections: Readonly<Record<string, RejectionFacts>>;
  /** Reports whether requests without any credential are rejected. */
  isRequired(traffic: TrafficPolicy): boolean;
  /** Returns the reason of rejected credentials if another policy may accept the request in its place (mode `AnyOf`). */
  alternative(traffic: TrafficPolicy): string | undefined;
  credentials(traffic: TrafficPolicy): readonly CredentialLocation[];
  /** Names of its configuration in `policySelection`, and what a configuration shows under each. */
  readonly selection: Readonly<Record<string, (shown: unknown) => unknown>>;
  wellKnown(traffic: TrafficPolicy): WellKnown | undefined;
  ownPaths(traffic: TrafficPolicy): readonly string[];
  check(
    traffic: TrafficPolicy,
    options: CheckOptions,
  ): readonly PolicyProblem[];
  checkReferences(
    traffic: TrafficPolicy,
    references: References,
  ): readonly PolicyProblem[];
  /** Returns `undefined` when `traffic` does not configure this kind. */
  create(
    traffic: TrafficPolicy,
    options: PolicyOptions,
  ): RunningPolicy | undefined;
  /** Creates one policy from all configurations that apply, in place of `create` for each; they all configure this kind. */
  readonly combine?: (
    layers: readonly CombinedLayer<TrafficPolicy>[],
  ) => RunningPolicy;
  /** Creates a stand-in for a policy that cannot run; it rejects every request. */
  deny(problem: string): RunningPolicy;
  /** Loads the code; without it, `check`, `create` and `combine` throw. */
  load(): Promise<void>;
}

/** A kind with the type of its configuration. */
export interface TypedPolicyKind<C> extends PolicyKind {
  /** Returns the configuration of this kind; `undefined` when there is none. */
  configOf(traffic: TrafficPolicy): C | undefined;
}
