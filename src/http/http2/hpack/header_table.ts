import { FIELD_OVERHEAD } from "../frames/http2_protocol.ts";

/** Fields of RFC 7541 appendix A, from index 1; without a space if the value is empty. */
const STATIC_FIELDS = `:authority;:method GET;:method POST;:path /
:path /index.html;:scheme http;:scheme https;:status 200;:status 204
:status 206;:status 304;:status 400;:status 404;:status 500;accept-charset
accept-encoding gzip, deflate;accept-language;accept-ranges;accept
access-control-allow-origin;age;allow;authorization;cache-control
content-disposition;content-encoding;content-language;content-length
content-location;content-range;content-type;cookie;date;etag;expect;expires
from;host;if-match;if-modified-since;if-none-match;if-range
if-unmodified-since;last-modified;link;location;max-forwards
proxy-authenticate;proxy-authorization;range;referer;refresh;retry-after
server;set-cookie;strict-transport-security;transfer-encoding;user-agent;vary
via;www-authenticate`.split(/[;\n]/);

/** A field of a table. */
export interface TableField {
  readonly name: string;
  readonly value: string;
  /** True if name and value are valid (RFC 9113 section 8.2.1). */
  readonly isValid: boolean;
}

/** The static table; its first field has index 1. */
export const staticTable: readonly TableField[] = STATIC_FIELDS.map((field) => {
  const space = field.indexOf(" ");
  return space < 0 ? { name: field, value: "", isValid: true } : {
    name: field.slice(0, space),
    value: field.slice(space + 1),
    isValid: true,
  };
});

/** The fields that a peer has indexed, the newest first (RFC 7541 section 2.3.2). */
export class DynamicTable {
  /** Fields in order of arrival; those before `#first` are evicted. */
  #fields: (TableField | undefined)[] = [];
  #first = 0;
  /** Size of the fields in bytes (RFC 7541 section 4.1). */
  #size = 0;
  #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** Returns a field by age; the newest has age 0. */
  get(age: number): TableField | undefined {
    const index = this.#fields.length - 1 - age;
    return index < this.#first ? undefined : this.#fields[index];
  }

  add(field: TableField): void {
    const size = sizeOf(field);
    this.#evictTo(this.#maxSize - size);
    // A field larger than the table only empties it (RFC 7541 section 4.4).
    if (size > this.#maxSize) return;
    this.#fields.push(field);
    this.#size += size;
  }

  resize(maxSize: number): void {
    this.#maxSize = maxSize;
    this.#evictTo(maxSize);
  }

  #evictTo(size: number): void {
    while (this.#size > size && this.#first < this.#fields.length) {
      const field = this.#fields[this.#first];
      this.#fields[this.#first++] = undefined;
      if (field !== undefined) this.#size -= sizeOf(field);
    }
    if (this.#first < 64 || this.#first * 2 < this.#fields.length) return;
    this.#fields = this.#fields.slice(this.#first);
    this.#first = 0;
  }
}

function sizeOf({ name, value }: TableField): number {
  return name.length + value.length + FIELD_OVERHEAD;
}
