/** A value in a YAML text; `start` counts characters from the beginning of the text. */
export type YamlNode = YamlScalar | YamlMap | YamlList | YamlAlias;

/** A text, number, boolean or null. */
export interface YamlScalar {
  readonly kind: "scalar";
  readonly start: number;
  readonly value: unknown;
  /** Written without quotes, so that its type follows from its text. */
  readonly plain: boolean;
}

/** A mapping; `flow` when in braces. */
export interface YamlMap {
  readonly kind: "map";
  readonly start: number;
  readonly flow: boolean;
  readonly entries: readonly YamlEntry[];
}

/** A list; `flow` when in brackets. */
export interface YamlList {
  readonly kind: "list";
  readonly start: number;
  readonly flow: boolean;
  readonly items: readonly YamlNode[];
}

/** A reference to an anchored node, which may contain it. */
export interface YamlAlias {
  readonly kind: "alias";
  readonly start: number;
  readonly name: string;
  readonly target: YamlNode | undefined;
}

/** One entry of a mapping. */
export interface YamlEntry {
  /** `undefined` for keys that are no texts. */
  readonly key: string | undefined;
  readonly keyStart: number;
  readonly value: YamlNode | undefined;
  /** Whether this is `<<`, which merges other mappings into this one. */
  readonly merge: boolean;
}
