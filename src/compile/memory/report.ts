import { createSuggest, type Suggest } from "../../api/schema/suggest.ts";
import type {
  DiagnosticPath,
  ResourceDiagnostic,
  ResourceName,
} from "../../base/diagnostic.ts";

/** The parts of a resource that a diagnostic names. */
export interface Named {
  readonly kind: string;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    /** Set for resources of a cluster. */
    readonly uid?: unknown;
  };
}

/** A problem of a resource, at a path in it. */
export interface Problem {
  readonly path: DiagnosticPath;
  readonly message: string;
  /** The value that was probably intended. */
  readonly suggestion?: string | undefined;
  /** Position in the string at `path`, in UTF-16 units. */
  readonly offset?: number | undefined;
  /** See `ResourceDiagnostic.reason`. */
  readonly reason?: ConditionReason | undefined;
  /** See `ResourceDiagnostic.needsPolicy`. */
  readonly needsPolicy?: true;
}

/** Reasons of conditions that compilation can find; Gateway API `RouteConditionReason`, `ListenerConditionReason` and `PolicyConditionReason`. */
export type ConditionReason =
  | "AddressDenied"
  | "AddressNotUsable"
  | "BackendNotFound"
  | "Conflicted"
  | "HostnameConflict"
  | "Invalid"
  | "InvalidCACertificateKind"
  | "InvalidCACertificateRef"
  | "InvalidCertificateRef"
  | "InvalidClientCertificateRef"
  | "InvalidKind"
  | "InvalidRouteKinds"
  | "NoMatchingListenerHostname"
  | "NoMatchingParent"
  | "NoValidCACertificate"
  | "NotAllowed"
  | "NotAllowedByListeners"
  | "PortUnavailable"
  | "ProtocolConflict"
  | "RefNotPermitted"
  | "TargetNotFound"
  | "UnsupportedProtocol"
  | "UnsupportedValue";

/** Collects the problems that compilation finds; drops duplicates. */
export class Report {
  readonly #suggest = createSuggest();
  readonly #diagnostics = new Map<string, ResourceDiagnostic>();
  readonly #recordings: ResourceDiagnostic[][] = [];
  #suggestions = 0;

  /** Suggests a name that was probably intended. */
  readonly suggest: Suggest = (word, listCandidates) => {
    this.#suggestions++;
    return this.#suggest(word, listCandidates);
  };

  get diagnostics(): readonly ResourceDiagnostic[] {
    return [...this.#diagnostics.values()];
  }

  error(resource: Named, problem: Problem): void {
    this.#add("error", resource, problem);
  }

  warning(resource: Named, problem: Problem): void {
    this.#add("warning", resource, problem);
  }

  /** Returns what `run` returns and reports, and whether it asked for a suggestion. */
  record<Result>(run: () => Result) {
    const reported: ResourceDiagnostic[] = [];
    const before = this.#suggestions;
    this.#recordings.push(reported);
    try {
      const result = run();
      return { result, reported, hasSuggested: this.#suggestions > before };
    } finally {
      this.#recordings.pop();
    }
  }

  /** Reports what was reported in an earlier compilation. */
  repeat(reported: readonly ResourceDiagnostic[]): void {
    for (const diagnostic of reported) this.#keep(diagnostic);
  }

  #add(
    severity: ResourceDiagnostic["severity"],
    resource: Named,
    { path, message, suggestion, offset, reason, needsPolicy }: Problem,
  ): void {
    this.#keep({
      severity,
      resource: nameOf(resource),
      path,
      message,
      ...(suggestion !== undefined && { suggestion }),
      ...(offset !== undefined && { offset }),
      ...(reason !== undefined && { reason }),
      ...(needsPolicy && { needsPolicy }),
    });
  }

  #keep(diagnostic: ResourceDiagnostic): void {
    for (const recording of this.#recordings) recording.push(diagnostic);
    this.#diagnostics.set(JSON.stringify(diagnostic), diagnostic);
  }
}

function nameOf({ kind, metadata }: Named): ResourceName {
  return { kind, namespace: metadata.namespace, name: metadata.name };
}
