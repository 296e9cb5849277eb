/** What is wrong with a resource, in terms that its author knows. */
export interface ResourceDiagnostic {
  /** `error`: the configuration is not applied; `warning`: it is, with the effect that the message states. */
  readonly severity: "error" | "warning";
  readonly resource: ResourceName;
  /** Where in the resource, such as `["spec", "rules", 0, "backendRefs", 1]`. */
  readonly path: DiagnosticPath;
  readonly message: string;
  /** A value that may have been meant. */
  readonly suggestion?: string;
  /** Where in the text at `path`, such as an expression, it is: UTF-16 units from its beginning. */
  readonly offset?: number;
}

/** Fields and indexes that lead to a value. */
export type DiagnosticPath = readonly (string | number)[];

/** Identity of a resource. */
export interface ResourceName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}
