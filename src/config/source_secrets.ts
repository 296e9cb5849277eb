import {
  createTextRedaction,
  type RedactText,
} from "../api/redact_configuration.ts";
import {
  planOfPart,
  type Privacy,
  type PrivacyPlan,
  privacyPlan,
} from "../api/schema/privacy.ts";
import type { GenericSchema } from "../api/schema/schema.ts";
import { createSensitiveHeaders } from "../base/redaction.ts";
import { DeferredLists } from "../base/slices.ts";
import type { ConfigText } from "./diagnostics/located_diagnostic.ts";
import type { FileSchemas } from "./file_schema.ts";
import { parseYaml } from "./yaml/yaml.ts";
import type {
  YamlList,
  YamlMap,
  YamlNode,
  YamlScalar,
} from "./yaml/yaml_node.ts";

/** A scalar of a source whose value may be private. */
export interface PrivateScalar {
  /** Offsets in the text, quotes included. */
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** Place in the schema, such as `config.otlp.headers.*`. */
  readonly place: string;
  /** The value must not be shown. */
  readonly isSecret: boolean;
}

/** The scalars of a source. */
export interface SourceScalars {
  /** In the order of the text. */
  readonly private: readonly PrivateScalar[];
  /** Reports whether the `#` at an offset is in a scalar, and not in a comment or a key. */
  isWithin(offset: number): boolean;
}

/** Schemas and names by which scalars are secret. */
export interface SourcePrivacy {
  readonly schemas: FileSchemas;
  /** See `Settings`. */
  readonly sensitiveHeaders: readonly string[];
}

/** A source that was parsed. */
export interface ParsedText {
  readonly text: string;
  /** Of its documents. */
  readonly roots: readonly (YamlNode | undefined)[];
}

/** Finds the private scalars of a source by their place in the schema, in steps. */
export function* findPrivateScalars(
  source: ConfigText,
  privacy: SourcePrivacy,
): Generator<void, SourceScalars> {
  const { roots } = yield* parseYaml(source);
  return yield* privateScalarsOf({ text: source.text, roots }, privacy);
}

/** Finds the private scalars of a source that was parsed before, in steps. */
export function* privateScalarsOf(
  { text, roots }: ParsedText,
  { schemas, sensitiveHeaders }: SourcePrivacy,
): Generator<void, SourceScalars> {
  const redact = createTextRedaction({
    sensitiveHeaders: createSensitiveHeaders(sensitiveHeaders),
    environment: [],
  });
  const search = new Search(redact, text);
  for (const root of roots) {
    search.visitDocument(root, schemas);
    yield* search.run();
  }
  return search.finish();
}

class Search {
  readonly #redact: RedactText;
  readonly #text: string;
  readonly #found = new Map<number, PrivateScalar>();
  /** Ends of the scalars with a `#`, by their starts. */
  readonly #ranges = new Map<number, number>();
  /** Targets of aliases, which may lead to the same node many times, or to one around them. */
  readonly #visited = new Map<YamlNode, Set<PrivacyPlan | undefined>>();
  /** Visited ones: aliases in a list may lead to the list itself. */
  readonly #documents = new Set<YamlNode>();
  readonly #lists = new DeferredLists();

  constructor(redact: RedactText, text: string) {
    this.#redact = redact;
    this.#text = text;
  }

  /** Visits the items of long lists, which `visitDocument` leaves out. */
  run(): Generator<void> {
    return this.#lists.run();
  }

  /** Visits a document in the short form, a resource, or a list of them. */
  visitDocument(root: YamlNode | undefined, schemas: FileSchemas): void {
    const node = root?.kind === "alias" ? root.target : root;
    if (node?.kind !== "map" || this.#documents.has(node)) return;
    this.#documents.add(node);
    const kind = valueOf(node, "kind");
    if (kind === "List") {
      const items = node.entries.find(({ key }) => key === "items")?.value;
      const list = items?.kind === "list" ? items.items : [];
      this.#lists.fill<YamlNode, void>([], list, (item) => {
        this.visitDocument(item, schemas);
      });
      return;
    }
    const kinds: Readonly<Record<string, GenericSchema>> = schemas.kinds;
    const isShort = kind === undefined &&
      valueOf(node, "apiVersion") === undefined;
    const schema: GenericSchema | undefined = isShort
      ? schemas.short.whole
      : kinds[String(kind)];
    const place = isShort ? "" : String(kind);
    this.#visit(node, schema && privacyPlan(schema), { place, holder: node });
  }

  finish(): SourceScalars {
    const ranges = [...this.#ranges].toSorted(([a], [b]) => a - b);
    return {
      private: [...this.#found.values()].toSorted((a, b) => a.start - b.start),
      isWithin: (offset) => {
        let [low, high] = [0, ranges.length];
        while (low < high) {
          const middle = (low + high) >> 1;
          if ((ranges[middle]?.[0] ?? 0) <= offset) low = middle + 1;
          else high = middle;
        }
        return offset < (ranges[low - 1]?.[1] ?? 0);
      },
    };
  }

  #visit(
    node: YamlNode | undefined,
    plan: PrivacyPlan | undefined,
    at: { readonly place: string; readonly holder: YamlNode },
  ): void {
    switch (node?.kind) {
      case "alias":
        return this.#visitTarget(node.target, plan, at);
      case "scalar":
        return this.#visitScalar(node, plan?.privacy, at);
      case "list":
        this.#visitList(node, planOfPart(plan, "*"), `${at.place}[]`);
        return;
      case "map":
        for (const { key = "", value, merge } of node.entries) {
          if (merge) {
            this.#visitMerged(value, plan, at);
            continue;
          }
          const step = plan?.fields?.has(key) === true ? key : "*";
          const place = at.place === "" ? step : `${at.place}.${step}`;
          this.#visit(value, planOfPart(plan, key), { place, holder: node });
        }
    }
  }

  #visitTarget(
    target: YamlNode | undefined,
    plan: PrivacyPlan | undefined,
    at: { readonly place: string; readonly holder: YamlNode },
  ): void {
    if (target === undefined) return;
    const plans = this.#visited.getOrInsertComputed(target, () => new Set());
    if (plans.has(plan)) return;
    plans.add(plan);
    this.#visit(target, plan, at);
  }

  #visitList(
    list: YamlList,
    plan: PrivacyPlan | undefined,
    place: string,
  ): void {
    this.#lists.fill<YamlNode, void>([], list.items, (item) => {
      this.#visit(item, plan, { place, holder: list });
    });
  }

  /** The fields of what `<<` merges are those of the mapping itself. */
  #visitMerged(
    value: YamlNode | undefined,
    plan: PrivacyPlan | undefined,
    at: { readonly place: string; readonly holder: YamlNode },
  ): void {
    const maps = value?.kind === "list" ? value.items : [value];
    for (const map of maps) this.#visit(map, plan, at);
  }

  #visitScalar(
    { start, end, value }: YamlScalar,
    privacy: Privacy | undefined,
    { place, holder }: { readonly place: string; readonly holder: YamlNode },
  ): void {
    if (this.#text.slice(start, end).includes("#")) {
      this.#ranges.set(start, end);
    }
    if (privacy === undefined || value === null || end <= start) return;
    const text = withoutReferences(String(value), privacy);
    const name = holder.kind === "map" ? valueOf(holder, "name") : undefined;
    const isSecret = text !== "" &&
      this.#redact(text, privacy, { name }) !== text;
    // One that is secret anywhere stays secret.
    if (this.#found.get(start)?.isSecret === true) return;
    this.#found.set(start, { start, end, value, place, isSecret });
  }
}

function valueOf(map: YamlMap, name: string): unknown {
  const value = map.entries.find(({ key }) => key === name)?.value;
  const node = value?.kind === "alias" ? value.target : value;
  return node?.kind === "scalar" ? node.value : undefined;
}

const reference = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/g;

/** Returns what a text gives besides references to the environment; schemes of credentials and names of users are no secrets. */
function withoutReferences(text: string, privacy: Privacy): string {
  const rest = text.replace(reference, "");
  if (rest === text) return text;
  return privacy === "url"
    ? rest.replace(/:\/\/[^:@/?#]*:?@/, "://")
    : rest.replace(/^\s*(?:basic|bearer|token)?\s*$/i, "");
}
