import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import type { ResultTable } from "../memory/compile_memory.ts";
import type { Report } from "../memory/report.ts";
import type { Inputs, References } from "../resolve/references.ts";

/** Dependencies of compiling backends. */
export interface BackendContext {
  readonly references: References;
  readonly inputs: Inputs;
  readonly report: Report;
  readonly backendMemory: ResultTable<string, Backend | undefined>;
  readonly tlsMemory: ResultTable<BackendTlsPolicy, Backend["tls"]>;
}
