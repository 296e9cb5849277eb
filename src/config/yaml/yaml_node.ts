/** A value in YAML source; `start` is its character offset. */
export type YamlNode = YamlScalar | YamlMap | YamlList | YamlAlias;

/** A string, number, boolean or null. */
export interface YamlScalar {
  readonly kind: "scalar";
  readonly start: number;
  /** Offset after the last character, that of a closing quote included. */
  readonly end: number;
  readonly value: unknown;
  /** Unquoted, so that the type depends on the content. */
  readonly plain: boolean;
}

/** A mapping; `flow`: in braces. */
export interface YamlMap {
  readonly kind: "map";
  readonly start: number;
  readonly flow: boolean;
  readonly entries: readonly YamlEntry[];
}

/** A list; `flow`: in brackets. */
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
  /** `undefined` for keys that are not scalars. */
  readonly key: string | undefined;
  readonly keyStart: number;
  readonly value: YamlNode | undefined;
  /** The key is `<<`, which merges other mappings into this one. */
  readonly merge: boolean;
}
