import type { HttpRoute } from "../api/resources/http_route.ts";
import type { Hide } from "../base/redaction.ts";
import type { PolicyLease } from "../policy/contract/policy_services.ts";
import {
  createHiding,
  createRedaction,
  type RedactionFor,
} from "../api/redact_configuration.ts";
import type { RouteMemory } from "./listeners/compile_listeners.ts";
import {
  createDescriptions,
  type DescribeLater,
} from "./describe/describe_effective.ts";
import { PolicyChecks } from "./policies/check_policies.ts";
import { PolicyFactory } from "./policies/policy_factory.ts";
import type { Report } from "./memory/report.ts";
import type { BackendContext } from "./backends/backend_compilation.ts";
import { CompileMemory, type ResultTable } from "./memory/compile_memory.ts";
import type { Attached } from "./attach/attach_policies.ts";
import { type Inputs, readFileOf } from "./resolve/references.ts";

/** Parts of a compilation that remember. */
export interface CompileParts {
  readonly inputs: Inputs;
  readonly attached: Attached;
  readonly hide: Hide;
  /** Redacts the resources for descriptions. */
  readonly redactionFor: RedactionFor;
  readonly describeLater: DescribeLater;
  readonly checks: PolicyChecks;
  readonly factory: PolicyFactory;
  readonly backendMemory: BackendContext["backendMemory"];
  readonly tlsMemory: BackendContext["tlsMemory"];
  readonly certificateMemory: BackendContext["certificateMemory"];
  readonly routes: RouteMemory;
  /** Routes whose filters were checked. */
  readonly checkedRoutes: ResultTable<HttpRoute, true>;
}

/** The compilations of a data plane, one after the other: each computes again only what depends on a change. */
export class Compilations {
  readonly #lease: () => PolicyLease;
  #committed: Generation | undefined;
  #next: Generation | undefined;

  /** @param lease Returns services for a policy. */
  constructor(lease: () => PolicyLease) {
    this.#lease = lease;
  }

  /** Begins a compilation; `commit` or `abandon` ends it. @param environment Secrets of the configuration: with others, all is computed again. */
  begin(report: Report, environment: readonly string[] = []): CompileParts {
    const name = JSON.stringify(environment);
    this.#next = this.#committed?.name === name
      ? this.#committed
      : this.#create(name, environment);
    this.#next.memory.begin(report);
    return this.#next.parts;
  }

  /** Resolves when new policies can be used. */
  async ready(): Promise<void> {
    await this.#next?.parts.factory.ready();
  }

  /** Returns the number of routes that the compilation has not taken from the one before. */
  get compiledRoutes(): number {
    return this.#next?.parts.routes.added().length ?? 0;
  }

  /** Keeps what the compilation used. */
  commit(): void {
    this.#next?.memory.commit();
    if (this.#committed !== this.#next) this.release();
    this.#committed = this.#next;
  }

  /** Drops what only this compilation used. */
  abandon(): void {
    this.#next?.memory.abandon();
    this.#next = this.#committed;
  }

  /** Drops everything that was committed. */
  release(): void {
    const { memory } = this.#committed ?? {};
    memory?.begin();
    memory?.commit();
    this.#committed = undefined;
  }

  #create(name: string, environment: readonly string[]): Generation {
    const memory = new CompileMemory();
    const inputs: Inputs = memory.view();
    const attached: Attached = memory.view();
    const hide = createHiding(environment);
    const checks = new PolicyChecks(
      { readFile: readFileOf(inputs), hide },
      memory,
    );
    const redactionFor: RedactionFor = (sensitiveHeaders) =>
      createRedaction({ sensitiveHeaders, environment });
    const lease = this.#lease;
    return {
      name,
      memory,
      parts: {
        inputs,
        attached,
        hide,
        redactionFor,
        describeLater: createDescriptions(redactionFor),
        checks,
        factory: new PolicyFactory({ checks, inputs, attached, memory, lease }),
        backendMemory: memory.table(),
        tlsMemory: memory.table(),
        certificateMemory: memory.table(),
        routes: memory.table(),
        checkedRoutes: memory.table(),
      },
    };
  }
}

/** Compilations with the same secrets. */
interface Generation {
  readonly name: string;
  readonly memory: CompileMemory;
  readonly parts: CompileParts;
}
