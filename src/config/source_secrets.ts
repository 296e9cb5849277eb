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
import type { ConfigText } from "./diagnostics/located_diagnostic.ts";
import type { FileSchemas } from "./file_schema.ts";
import { parseYaml } from "./yaml/yaml.ts";
import type { YamlMap, YamlNode, YamlScalar } from "./yaml/yaml_node.ts";

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
  /** Reports whether an offset is in a scalar, and not in a comment or a key. */
  isWithin(offset: number): boolean;
}

/** Schemas and names by which scalars are secret. */
export interface SourcePrivacy {
  readonly schemas: FileSchemas;
  /** See `Settings`. */
  readonly sensitiveHeaders: readonly string[];
}

/** Finds the private scalars of a source by their place in the schema, in steps. */
export function* findPrivateScalars(
  source: ConfigText,
  { schemas, sensitiveHeaders }: SourcePrivacy,
): Generator<void, SourceScalars> {
  const { roots } = yield* parseYaml(source);
  const redact = createTextRedaction({
    sensitiveHeaders: createSensitiveHeaders(sensitiveHeaders),
    environment: [],
  });
  const search = new Search(redact);
  for (const root of roots) {
    search.visitDocument(root, schemas);
    yield;
  }
  return search.finish();
}

class Search {
  readonly #redact: RedactText;
  readonly #found = new Map<number, PrivateScalar>();
  readonly #ranges = new Map<number, number>();
  /** Aliases may lead to the same node many times. */
  readonly #visited = new Map<YamlNode, Set<PrivacyPlan | undefined>>();

  constructor(redact: RedactText) {
    this.#redact = redact;
  }

  /** Visits a document in the short form, a resource, or a list of them. */
  visitDocument(root: YamlNode | undefined, schemas: FileSchemas): void {
    const node = root?.kind === "alias" ? root.target : root;
    if (node?.kind !== "map") return;
    const kind = valueOf(node, "kind");
    if (kind === "List") {
      const items = node.entries.find(({ key }) => key === "items")?.value;
      const list = items?.kind === "list" ? items.items : [];
      for (const item of list) this.visitDocument(item, schemas);
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
    if (node === undefined) return;
    const plans = this.#visited.getOrInsertComputed(node, () => new Set());
    if (plans.has(plan)) return;
    plans.add(plan);
    switch (node.kind) {
      case "alias":
        return this.#visit(node.target, plan, at);
      case "scalar":
        return this.#visitScalar(node, plan?.privacy, at);
      case "list":
        for (const item of node.items) {
          const place = `${at.place}[]`;
          this.#visit(item, planOfPart(plan, "*"), { place, holder: node });
        }
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
    this.#ranges.set(start, end);
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
