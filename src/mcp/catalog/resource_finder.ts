import { matchesTemplate, originalUri } from "../names/names.ts";
import {
  type CatalogReader,
  type CatalogServer,
  type Place,
  SEARCH_AGE_MS,
  type ServerEntries,
} from "./server_entries.ts";

/** Decides whether a client may mean an item of a list by a URI. */
type UriMatch = (
  kind: "resources" | "resourceTemplates",
  key: string,
  uri: string,
) => boolean;

/** Finds the servers of resources by the URIs that clients know. */
export class ResourceFinder {
  readonly #servers: readonly CatalogServer[];
  readonly #entries: ServerEntries;

  constructor(servers: readonly CatalogServer[], entries: ServerEntries) {
    this.#servers = servers;
    this.#entries = entries;
  }

  /** Finds the server of a resource. */
  find(exposed: string, reader: CatalogReader): Promise<Place | undefined> {
    return this.#find(
      exposed,
      reader,
      (kind, key, uri) =>
        kind === "resources" ? key === uri : matchesTemplate(key, uri),
    );
  }

  /** Finds the server of a template of URIs, or of a resource, that a client has from a list. */
  findTemplate(
    exposed: string,
    reader: CatalogReader,
  ): Promise<Place | undefined> {
    return this.#find(exposed, reader, (_, key, uri) => key === uri);
  }

  async #find(
    exposed: string,
    reader: CatalogReader,
    matches: UriMatch,
  ): Promise<Place | undefined> {
    const candidates = this.#servers.flatMap((each) => {
      const { server } = each;
      const key = originalUri(server.settings.prefix, exposed);
      return key === undefined ? [] : [{ ...each, key }];
    });
    // A prefix decides; a server without one has any other URI.
    const prefixed = candidates.filter(({ server }) =>
      server.settings.prefix !== ""
    );
    const [only, ...others] = prefixed.length > 0 ? prefixed : candidates;
    if (only === undefined || others.length === 0) return only;
    return await this.#search([only, ...others], reader, matches);
  }

  async #search(
    candidates: readonly Place[],
    reader: CatalogReader,
    matches: UriMatch,
  ): Promise<Place | undefined> {
    const found = async (kind: "resources" | "resourceTemplates") => {
      const owners = await Promise.all(candidates.map(async (each) => {
        const list = await this.#entries
          .listOf(each, kind, reader, SEARCH_AGE_MS)
          .catch(() => undefined);
        const keys = [...list?.items.keys() ?? []];
        return keys.some((key) => matches(kind, key, each.key));
      }));
      const [owner, ...more] = candidates.filter((_, index) => owners[index]);
      return more.length === 0 ? owner : undefined;
    };
    return await found("resources") ?? await found("resourceTemplates");
  }
}
