import {
  createPolicySchemas,
  type PolicyPhase,
  type PolicySchemas,
} from "../../api/resources/gateway_policy_schema.ts";
import type { Identity } from "./identity.ts";
import type { PolicyKind, RejectionFacts } from "./policy_kind.ts";

/** The kinds of policies that a gateway has. */
export interface PolicyRegistry {
  /** In the order in which they see a request. */
  readonly kinds: readonly PolicyKind[];
  /** Schemas of configuration with these kinds. */
  readonly schemas: PolicySchemas;
  /** Identities that they verify. */
  readonly identities: readonly Identity[];
  /** By reason, such as `jwt_auth`. */
  readonly rejections: ReadonlyMap<string, RejectionFacts>;
  /** Returns the kinds that run before routing, after it, or after a backend is chosen. */
  running(phase: Exclude<PolicyPhase, "backendRef">): readonly PolicyKind[];
}

/**
 * Creates a registry.
 * @param kinds In the order in which they see a request.
 * @throws {TypeError} When two have the same name or reason of a rejection.
 */
export function createRegistry(kinds: readonly PolicyKind[]): PolicyRegistry {
  const rejections = kinds.flatMap(({ trace: { event }, rejections }) =>
    Object.entries(rejections).map(([reason, facts]) =>
      [reason, event === undefined ? facts : { event, ...facts }] as const
    )
  );
  expectUnique("kind of policy", kinds.map(({ name }) => name));
  expectUnique("rejection", rejections.map(([reason]) => reason));
  const inPhase = (...phases: readonly PolicyPhase[]) =>
    kinds.filter((kind) => phases.some((each) => kind.phases.includes(each)));
  const byPhase = {
    gateway: inPhase("gateway"),
    route: inPhase("route"),
    backend: inPhase("backend", "backendRef"),
  };
  return {
    kinds,
    schemas: createPolicySchemas(kinds),
    identities: kinds.flatMap(({ identity }) => identity ?? []),
    rejections: new Map(rejections),
    running: (phase) => byPhase[phase],
  };
}

function expectUnique(what: string, names: readonly string[]): void {
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) {
    throw new TypeError(`Cannot register ${what} "${repeated}" twice`);
  }
}
