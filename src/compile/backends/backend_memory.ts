import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import type { CompileMemory, ResultTable } from "../memory/compile_memory.ts";

/** Backends and TLS settings of the last compilation. */
export class BackendMemory {
  readonly #tls: ResultTable<BackendTlsPolicy, Backend["tls"]>;
  readonly #backends: ResultTable<string, Backend | undefined>;
  readonly #memory: CompileMemory;
  /** Inputs of each backend in this compilation. */
  readonly #inputs = new Map<string, readonly unknown[]>();

  constructor(memory: CompileMemory) {
    this.#memory = memory;
    this.#tls = memory.table();
    this.#backends = memory.table();
  }

  /** Begins a compilation. */
  begin(): void {
    this.#inputs.clear();
  }

  /** Returns the settings of a policy. */
  tls(policy: BackendTlsPolicy, compile: () => Backend["tls"]): Backend["tls"] {
    return this.#tls.recall(policy, compile);
  }

  /** Returns the same backend as long as it is made from the same `inputs`. */
  backend(
    key: string,
    inputs: readonly unknown[],
    compile: () => Backend | undefined,
  ): Backend | undefined {
    this.#inputs.set(key, inputs);
    return this.#backends.recall(key, () => {
      this.#memory.read(() => this.#inputs.get(key));
      return compile();
    });
  }
}
