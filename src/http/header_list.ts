/**
 * Header fields in their original order and spelling.
 *
 * Look-ups ignore case; `name` arguments are lower-case. Fields may repeat.
 * Uses a flat array: for the dozen fields of a request, scanning is faster than a map, and it keeps the order.
 */
export class HeaderList {
  readonly #fields: string[];

  /** @param fields Name, value, name, value…; not copied. */
  constructor(fields: string[] = []) {
    this.#fields = fields;
  }

  /** Creates a list from pairs such as `[["content-type", "text/plain"]]`. */
  static from(pairs: Iterable<readonly [string, string]>): HeaderList {
    const list = new HeaderList();
    for (const [name, value] of pairs) list.append(name, value);
    return list;
  }

  /** Number of fields, including repeated ones. */
  get size(): number {
    return this.#fields.length / 2;
  }

  /** Returns the first value of the field. */
  get(name: string): string | undefined {
    const index = this.#find(name, 0);
    return index < 0 ? undefined : this.#fields[index + 1];
  }

  /** Returns all values of the field in order. */
  getAll(name: string): string[] {
    const values: string[] = [];
    for (let i = this.#find(name, 0); i >= 0; i = this.#find(name, i + 2)) {
      values.push(this.#fields[i + 1] ?? "");
    }
    return values;
  }

  /** Returns all values joined by commas (RFC 9110 section 5.3). */
  getJoined(name: string): string | undefined {
    const first = this.#find(name, 0);
    if (first < 0) return undefined;
    if (this.#find(name, first + 2) < 0) return this.#fields[first + 1];
    return this.getAll(name).join(", ");
  }

  has(name: string): boolean {
    return this.#find(name, 0) >= 0;
  }

  /** Returns the number of occurrences of the field. */
  count(name: string): number {
    let count = 0;
    for (let i = this.#find(name, 0); i >= 0; i = this.#find(name, i + 2)) {
      count++;
    }
    return count;
  }

  /** Appends a field. The caller guarantees that name and value are valid (see `field_syntax.ts`). */
  append(name: string, value: string): void {
    this.#fields.push(name, value);
  }

  /** Makes `value` the only value of the field, at its first position. */
  set(name: string, value: string): void {
    const index = this.#find(name, 0);
    if (index < 0) {
      this.append(name, value);
      return;
    }
    this.#fields[index + 1] = value;
    this.#deleteFrom(name, index + 2);
  }

  /** Removes all occurrences of the field. */
  delete(name: string): void {
    this.#deleteFrom(name, 0);
  }

  /** Reports whether the name of a field, in its original spelling, matches. */
  some(matches: (name: string) => boolean): boolean {
    const fields = this.#fields;
    for (let i = 0; i < fields.length; i += 2) {
      if (matches(fields[i] ?? "")) return true;
    }
    return false;
  }

  /** Removes all fields whose name, in its original spelling, matches; returns whether there were any. */
  deleteWhere(matches: (name: string) => boolean): boolean {
    const fields = this.#fields;
    let kept = 0;
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] ?? "";
      if (matches(name)) continue;
      if (kept < i) {
        fields[kept] = name;
        fields[kept + 1] = fields[i + 1] ?? "";
      }
      kept += 2;
    }
    const found = kept < fields.length;
    fields.length = kept;
    return found;
  }

  copy(): HeaderList {
    return new HeaderList(this.#fields.slice());
  }

  /** Calls `visit` for each field in order, with its original spelling. Cheaper than iterating. */
  forEach(visit: (name: string, value: string) => void): void {
    const fields = this.#fields;
    for (let i = 0; i + 1 < fields.length; i += 2) {
      visit(fields[i] ?? "", fields[i + 1] ?? "");
    }
  }

  *[Symbol.iterator](): Iterator<readonly [string, string]> {
    const fields = this.#fields;
    for (let i = 0; i + 1 < fields.length; i += 2) {
      yield [fields[i] ?? "", fields[i + 1] ?? ""];
    }
  }

  /** Formats the fields for a message head: `name: value` lines, each terminated by CRLF. */
  serialize(): string {
    const fields = this.#fields;
    let text = "";
    for (let i = 0; i < fields.length; i += 2) {
      text += fields[i] + ": " + fields[i + 1] + "\r\n";
    }
    return text;
  }

  #find(name: string, from: number): number {
    const fields = this.#fields;
    for (let i = from; i < fields.length; i += 2) {
      const candidate = fields[i];
      if (candidate !== undefined && equalsIgnoringCase(candidate, name)) {
        return i;
      }
    }
    return -1;
  }

  #deleteFrom(name: string, from: number): void {
    for (let i = this.#find(name, from); i >= 0; i = this.#find(name, i)) {
      this.#fields.splice(i, 2);
    }
  }
}

/** Compares a name with one in lower case, character by character: most names differ in the first one, and lower-casing each would cost more. */
export function equalsIgnoringCase(candidate: string, lower: string): boolean {
  const { length } = candidate;
  if (length !== lower.length) return false;
  for (let i = 0; i < length; i++) {
    const code = candidate.charCodeAt(i);
    const folded = code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
    if (folded !== lower.charCodeAt(i)) return false;
  }
  return true;
}
