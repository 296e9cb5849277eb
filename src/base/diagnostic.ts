/** A problem with a resource, in the terms of its author. */
export interface ResourceDiagnostic {
  /** `error`: the configuration is not applied. `warning`: it is applied, with the effect that the message states. */
  readonly severity: "error" | "warning";
  readonly resource: ResourceName;
  /** Path in the resource, such as `["spec", "rules", 0, "backendRefs", 1]`. */
  readonly path: DiagnosticPath;
  readonly message: string;
  /** A value that was probably intended. */
  readonly suggestion?: string;
  /** Position in the string at `path`, such as an expression, in UTF-16 units. */
  readonly offset?: number;
  /** Reason of the condition in a status, such as `BackendNotFound`; omitted for problems that no condition reports. */
  readonly reason?: string;
  /** No policy does what another one needs: one that is invalid may do it. */
  readonly needsPolicy?: true;
}

/** Fields and indexes that lead to a value. */
export type DiagnosticPath = readonly (string | number)[];

/** Identity of a resource. */
export interface ResourceName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}
