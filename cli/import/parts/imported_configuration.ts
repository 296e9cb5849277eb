import type { SourceNode } from "./source_node.ts";

/** A configuration in the short form, with the place of each route in the file. */
export interface ImportedConfiguration {
  readonly config: Readonly<Record<string, unknown>> | undefined;
  readonly gateways: Readonly<Record<string, unknown>>;
  readonly routes: readonly RouteImport[];
}

/** Imported routes, each with its place in the file. */
export interface RouteImport {
  readonly route: Readonly<Record<string, unknown>>;
  readonly source: SourceNode;
  /** Backends that it refers to by name. */
  readonly backends?: readonly object[];
}

/** Names of routes, each of them unique and made of the characters that names may have. */
export class RouteNames {
  readonly #taken = new Set<string>();

  take(text: string): string {
    const plain = text.toLowerCase().replaceAll(/[^a-z0-9-]+/g, "-")
      .replaceAll(/^-+|-+$/g, "") || "route";
    let name = plain;
    for (let count = 2; this.#taken.has(name); count++) {
      name = `${plain}-${count}`;
    }
    this.#taken.add(name);
    return name;
  }
}

/**
 * Returns a route that responds with 503: without what is missing, it would be open or go nowhere.
 * @param policies Those that stay, for whoever opens the route.
 */
export function closed(
  { name, gateways, hostnames, matches }: Readonly<Record<string, unknown>>,
  missing: readonly string[],
  policies: object = {},
): Readonly<Record<string, unknown>> {
  const body = `not imported: ${missing.join(", ")}`;
  return {
    ...{ name, gateways, hostnames, matches },
    policies: { ...policies, directResponse: { status: 503, body } },
  };
}
