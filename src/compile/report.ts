import { createSuggest, type Suggest } from "../api/schema/suggest.ts";
import type {
  DiagnosticPath,
  ResourceDiagnostic,
  ResourceName,
} from "../base/diagnostic.ts";

/** What a diagnostic needs to know of a resource. */
export interface Named {
  readonly kind: string;
  readonly metadata: { readonly namespace: string; readonly name: string };
}

/** What is wrong with a resource, and where in it. */
export interface Problem {
  readonly path: DiagnosticPath;
  readonly message: string;
  /** A value that may have been meant. */
  readonly suggestion?: string | undefined;
  /** Where in the text at `path` it is. */
  readonly offset?: number | undefined;
}

/** Collects what is wrong while compiling goes on; what is found twice is reported once. */
export class Report {
  /** What may have been meant by a name. */
  readonly suggest: Suggest = createSuggest();
  readonly #diagnostics = new Map<string, ResourceDiagnostic>();

  get diagnostics(): readonly ResourceDiagnostic[] {
    return [...this.#diagnostics.values()];
  }

  error(resource: Named, problem: Problem): void {
    this.#add("error", resource, problem);
  }

  warning(resource: Named, problem: Problem): void {
    this.#add("warning", resource, problem);
  }

  #add(
    severity: ResourceDiagnostic["severity"],
    resource: Named,
    { path, message, suggestion, offset }: Problem,
  ): void {
    const diagnostic = {
      severity,
      resource: nameOf(resource),
      path,
      message,
      ...(suggestion !== undefined && { suggestion }),
      ...(offset !== undefined && { offset }),
    };
    this.#diagnostics.set(JSON.stringify(diagnostic), diagnostic);
  }
}

function nameOf({ kind, metadata }: Named): ResourceName {
  return { kind, namespace: metadata.namespace, name: metadata.name };
}
