import { createSuggest, type Suggest } from "../api/suggest.ts";
import type {
  Diagnostic,
  DiagnosticPath,
  ResourceName,
} from "../base/diagnostic.ts";

/** What a diagnostic needs to know of a resource. */
export interface Named {
  readonly kind: string;
  readonly metadata: { readonly namespace: string; readonly name: string };
}

/** Collects what is wrong while compiling goes on; what is found twice is reported once. */
export class Report {
  /** What may have been meant by a name. */
  readonly suggest: Suggest = createSuggest();
  readonly #diagnostics = new Map<string, Diagnostic>();

  get diagnostics(): readonly Diagnostic[] {
    return [...this.#diagnostics.values()];
  }

  /**
   * @param suggestion A value that may have been meant.
   * @param offset Where in the text at `path` it is.
   */
  error(
    resource: Named,
    path: DiagnosticPath,
    message: string,
    suggestion?: string,
    offset?: number,
  ): void {
    this.#add("error", resource, path, message, suggestion, offset);
  }

  /** @param suggestion A value that may have been meant. */
  warning(
    resource: Named,
    path: DiagnosticPath,
    message: string,
    suggestion?: string,
  ): void {
    this.#add("warning", resource, path, message, suggestion);
  }

  #add(
    severity: Diagnostic["severity"],
    resource: Named,
    path: DiagnosticPath,
    message: string,
    suggestion: string | undefined,
    offset?: number,
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
