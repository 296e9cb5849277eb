import type { PolicyBackendRef } from "../../api/resources/policy_references.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { References } from "../../policy/contract/policy_kind.ts";
import type { PolicyRegistry } from "../../policy/contract/policy_registry.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import type { Report } from "../memory/report.ts";
import { suggestBackend } from "./compile_backends.ts";
import type { Inputs } from "../resolve/references.ts";
import { reportProblem } from "../policies/check_policies.ts";
import { mayCall, secretsFor } from "../policies/policy_factory.ts";

/** Dependencies of resolving the references of policies. */
export interface ReferenceContext {
  readonly policies: PolicyRegistry;
  readonly backends: ReadonlyMap<string, Backend>;
  readonly inputs: Inputs;
  readonly hasStore?: boolean;
  readonly mayHaveBackend?: (name: string) => boolean;
  readonly report: Report;
}

/** Reports references of policies to backends and stores that do not exist or cannot be used, whether the policies are attached or not. */
export function checkReferences(
  { gatewayPolicies }: ResourceSet,
  context: ReferenceContext,
): void {
  for (const policy of gatewayPolicies) {
    const { traffic = {} } = policy.spec;
    const references = referencesFrom(policy.metadata.namespace, context);
    for (const kind of context.policies.kinds) {
      const path = ["spec", "traffic", kind.name];
      for (const problem of kind.checkReferences(traffic, references)) {
        if (problem.isConsequence) continue;
        reportProblem({ resource: policy, path }, problem, context.report);
      }
    }
  }
}

function referencesFrom(
  namespace: string,
  { backends, inputs, report, ...options }: ReferenceContext,
): References {
  const { hasStore = false, mayHaveBackend = () => false } = options;
  const keyOf = (ref: PolicyBackendRef) =>
    `${ref.namespace ?? namespace}/${ref.name}`;
  return {
    hasStore,
    denialOf: (target) => inputs.read(({ egress }) => egress.denialOf(target)),
    readSecret: secretsFor(namespace, inputs),
    backend(ref) {
      const backend = backends.get(keyOf(ref));
      if (backend === undefined) return undefined;
      if (!mayCall(namespace, ref, inputs)) return undefined;
      const { key, port, protocol, tls } = backend;
      return { key, port, protocol, hasTls: tls !== undefined };
    },
    missing: (ref, path) =>
      mayCall(namespace, ref, inputs)
        ? {
          path: [...path, "name"],
          message: `Cannot find backend "${keyOf(ref)}"`,
          suggestion: suggestBackend(ref.name, backends, report),
          ...(mayHaveBackend(ref.name) && { isConsequence: true }),
        }
        : {
          path: [...path, "namespace"],
          message: `Cannot refer to backend "${
            keyOf(ref)
          }": no ReferenceGrant of "${ref.namespace}" allows it`,
        },
  };
}
