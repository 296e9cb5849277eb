import type { TrafficPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type { CompileMemory, ResultTable } from "../memory/compile_memory.ts";
import type {
  CheckOptions,
  PolicyKind,
  PolicyProblem,
} from "../../policy/contract/policy_kind.ts";

/** Checks the policies of a configuration, each one once, however many routes it is attached to. */
export class PolicyChecks {
  readonly options: CheckOptions;
  /** By configuration of one kind, such as the object in `traffic.cors`. */
  readonly #problems: ResultTable<object, readonly PolicyProblem[]>;

  constructor(options: CheckOptions, memory: CompileMemory) {
    this.options = options;
    this.#problems = memory.table();
  }

  /** Returns the problems of what `traffic` configures of a kind. */
  problemsOf(
    kind: PolicyKind,
    traffic: TrafficPolicy,
  ): readonly PolicyProblem[] {
    const config = traffic[kind.name];
    if (typeof config !== "object" || config === null) return [];
    return this.#problems.recall(
      config,
      () => kind.check(traffic, this.options),
    );
  }
}
