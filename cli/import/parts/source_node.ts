import type { Location } from "../../../src/config/diagnostics/located_diagnostic.ts";
import { parseYaml } from "../../../src/config/yaml/yaml.ts";
import type { YamlNode } from "../../../src/config/yaml/yaml_node.ts";
import { runToEnd } from "../../../src/base/slices.ts";

/** A part of the imported file that could not be taken over. */
export interface ImportNote extends Location {
  readonly message: string;
}

/** Deeper members are left out. */
const MAX_DEPTH = 64;

/** A value of the imported file; it knows which of its members were read, so that the others can be reported. */
export class SourceNode {
  readonly #value: YamlNode | undefined;
  readonly #start: number;
  readonly #document: SourceDocument;
  readonly #depth: number;
  #membersRead: ReadonlyMap<string, SourceNode> | undefined;
  #itemsRead: readonly SourceNode[] | undefined;
  #isTouched = false;
  #isWhole = false;

  constructor(
    document: SourceDocument,
    value: YamlNode | undefined,
    start: number,
    depth = 0,
  ) {
    this.#document = document;
    this.#value = value?.kind === "alias" ? value.target : value;
    this.#start = start;
    this.#depth = depth;
  }

  /** Members, read when they are needed: an alias may be a part of itself. */
  get #members(): ReadonlyMap<string, SourceNode> {
    if (this.#membersRead !== undefined) return this.#membersRead;
    const members = new Map<string, SourceNode>();
    const entries = this.#value?.kind === "map" ? this.#value.entries : [];
    for (const { key, keyStart, value } of entries) {
      if (key === undefined || this.#depth > MAX_DEPTH) continue;
      members.set(key, this.#child(value, keyStart));
    }
    return this.#membersRead = members;
  }

  get #items(): readonly SourceNode[] {
    if (this.#value?.kind !== "list" || this.#depth > MAX_DEPTH) return [];
    return this.#itemsRead ??= this.#value.items.map((item) =>
      this.#child(item, item.start)
    );
  }

  #child(value: YamlNode | undefined, start: number): SourceNode {
    return new SourceNode(this.#document, value, start, this.#depth + 1);
  }

  /** Returns a member and marks it as read. */
  get(key: string): SourceNode | undefined {
    const member = this.#members.get(key);
    if (member !== undefined) member.#isTouched = true;
    return member;
  }

  has(key: string): boolean {
    return this.#members.has(key);
  }

  /** Returns all members and marks them as read. */
  members(): readonly (readonly [key: string, member: SourceNode])[] {
    for (const member of this.#members.values()) member.#isTouched = true;
    return [...this.#members];
  }

  /** Returns the items of a list; a single value is a list of one. */
  items(): readonly SourceNode[] {
    if (this.#value?.kind === "list") return this.#items;
    return this.#value === undefined ? [] : [this];
  }

  /** Returns a scalar as a string, with references to variables as this gateway writes them. */
  text(): string | undefined {
    if (this.#value?.kind !== "scalar" || this.#value.value === null) {
      return undefined;
    }
    return withReferences(String(this.#value.value));
  }

  /** Returns a number, or a reference to one. */
  number(): number | string | undefined {
    const text = this.text();
    return text !== undefined && /^-?[0-9.]+$/.test(text) ? Number(text) : text;
  }

  isTrue(): boolean {
    return this.text() === "true";
  }

  /** Returns the strings of a list. */
  texts(): readonly string[] {
    this.#isWhole = true;
    return this.items().flatMap((item) => item.text() ?? []);
  }

  /** Returns plain data and marks all of it as read. */
  plain(): unknown {
    this.#isWhole = true;
    if (this.#value?.kind === "list") {
      return this.#items.map((item) => item.plain());
    }
    if (this.#value?.kind === "map") {
      return Object.fromEntries(
        [...this.#members].map(([key, member]) => [key, member.plain()]),
      );
    }
    const scalar = this.#value?.kind === "scalar" ? this.#value.value : null;
    return typeof scalar === "string" ? withReferences(scalar) : scalar;
  }

  /** Returns where this part begins. */
  place(): Location {
    return this.#document.locate(this.#start);
  }

  /** Reports something about this part. */
  note(message: string): void {
    this.#document.note(this.#start, message);
  }

  /** Reports that this part could not be taken over; its members are not reported again. */
  reject(message: string): void {
    this.#isWhole = true;
    this.note(message);
  }

  /** Reports whether a member was not read. */
  hasUnread(): boolean {
    if (this.#isWhole) return false;
    return [...this.#members.values()].some((member) =>
      !member.#isTouched || member.hasUnread()
    ) || this.#items.some((item) => item.hasUnread());
  }

  /** Reports all members that nothing has read. */
  reportUnread(path = ""): void {
    if (this.#isWhole) return;
    for (const [key, member] of this.#members) {
      const name = path === "" ? key : `${path}.${key}`;
      if (member.#isTouched) member.reportUnread(name);
      else member.reject(`${name}: no counterpart`);
    }
    this.#items.forEach((item, index) =>
      item.reportUnread(`${path}[${index}]`)
    );
  }
}

/** A file to import, and what could not be taken over. */
export class SourceDocument {
  readonly root: SourceNode;
  readonly errors: readonly ImportNote[];
  readonly #notes: ImportNote[] = [];
  readonly #locate: (offset: number) => Location;

  constructor(name: string, text: string) {
    const { roots, diagnostics, locate } = runToEnd(parseYaml({ name, text }));
    this.#locate = locate;
    this.errors = diagnostics;
    this.root = new SourceNode(this, roots[0], 0);
  }

  /** Returns the place of an offset. */
  locate(offset: number): Location {
    return this.#locate(offset);
  }

  note(offset: number, message: string): void {
    const note = { ...this.#locate(offset), message };
    const isKnown = this.#notes.some((each) =>
      each.line === note.line && each.column === note.column &&
      each.message === message
    );
    if (!isKnown) this.#notes.push(note);
  }

  /** Returns all notes in the order of the file. */
  notes(): readonly ImportNote[] {
    return this.#notes.toSorted((a, b) =>
      a.line - b.line || a.column - b.column
    );
  }
}

/** Writes `$NAME` as `${NAME}`, and `$$` as `$`. */
function withReferences(text: string): string {
  return text.replace(
    /\$\$|\$([A-Za-z_]\w*)/g,
    (whole, name: string | undefined) =>
      name === undefined ? whole.slice(1) : `\${${name}}`,
  );
}
