/**
 * Messages of `envoy.service.auth.v3.Authorization/Check`.
 *
 * @module
 */
import { latin1 } from "../../base/bytes.ts";
import { BinaryWriter, WireType } from "../../base/wire/protobuf_wire.ts";
import { readFields } from "../../base/wire/read_fields.ts";
import { HeaderList } from "../../http/header_list.ts";
import {
  type AuthorizerVerdict,
  deniedStatus,
  expectName,
  expectValue,
  type HeaderChange,
} from "./authorizer_verdict.ts";

/** Attributes of a request for an authorizer. */
export interface CheckRequest {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly scheme: string;
  readonly protocol: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** `undefined` unless it is sent. */
  readonly body: Uint8Array | undefined;
  readonly source: { readonly address: string; readonly port: number };
  readonly contextExtensions: Readonly<Record<string, string>>;
}

/** Largest number of changes in a response. */
const MAX_ITEMS = 128;
const MAX_DEPTH = 16;

/** Encodes a `CheckRequest`. */
export function encodeCheck(request: CheckRequest): Uint8Array {
  const writer = new BinaryWriter();
  nest(writer, 1, () => {
    nest(writer, 1, () => writePeer(writer, request.source));
    nest(writer, 4, () => nest(writer, 2, () => writeHttp(writer, request)));
    writeMap(writer, 10, Object.entries(request.contextExtensions));
  });
  return writer.finish();
}

function writePeer(
  writer: BinaryWriter,
  { address, port }: CheckRequest["source"],
): void {
  nest(writer, 1, () =>
    nest(writer, 1, () => {
      writeText(writer, 2, address);
      writer.tag(3, WireType.Varint).uint32(port);
    }));
}

function writeHttp(writer: BinaryWriter, request: CheckRequest): void {
  const { headers, body } = request;
  const [path = "", query = ""] = request.path.split(/\?(.*)/s, 2);
  writeText(writer, 1, request.id);
  writeText(writer, 2, request.method);
  writeMap(writer, 3, headers);
  // With its query, as Envoy sends it.
  writeText(writer, 4, request.path);
  writeText(writer, 5, request.host);
  writeText(writer, 6, request.scheme);
  if (path !== request.path) writeText(writer, 7, query);
  writer.tag(9, WireType.Varint).int64(body?.length ?? -1);
  writeText(writer, 10, request.protocol);
  if (body !== undefined && body.length > 0) {
    writer.tag(12, WireType.LengthDelimited).bytes(body);
  }
}

function writeMap(
  writer: BinaryWriter,
  field: number,
  entries: Iterable<readonly [string, string]>,
): void {
  for (const [key, value] of entries) {
    nest(writer, field, () => {
      writeText(writer, 1, key);
      writeText(writer, 2, value);
    });
  }
}

function nest(writer: BinaryWriter, field: number, write: () => void): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write();
  writer.join();
}

function writeText(writer: BinaryWriter, field: number, text: string): void {
  writer.tag(field, WireType.LengthDelimited).string(text.toWellFormed());
}

/**
 * Decodes a `CheckResponse`; skips unknown fields.
 * @throws {Error} When it is invalid, or asks for something that the gateway does not do.
 */
export function decodeCheck(bytes: Uint8Array): AuthorizerVerdict {
  let code = 0;
  let denied: Uint8Array | undefined;
  let ok: Uint8Array | undefined;
  let metadata: Readonly<Record<string, unknown>> = {};
  readFields(bytes, {
    messages: {
      1: (message) =>
        readFields(message, { numbers: { 1: (value) => code = value } }),
      2: (message) => denied = message,
      3: (message) => ok = message,
      4: (message) => metadata = decodeStruct(message, 0),
    },
  });
  if (code !== 0) return decodeDenied(denied ?? new Uint8Array());
  return { ...decodeAllowed(ok ?? new Uint8Array()), metadata };
}

function decodeDenied(bytes: Uint8Array): AuthorizerVerdict {
  let status = 0;
  let body: Uint8Array = new Uint8Array();
  const changes: HeaderChange[] = [];
  readFields(bytes, {
    messages: {
      1: (message) =>
        readFields(message, { numbers: { 1: (value) => status = value } }),
      2: (message) => push(changes, decodeChange(message)),
      3: (message) => body = message,
    },
  });
  return {
    kind: "denied",
    status: deniedStatus(status),
    headers: HeaderList.from(changes.map(({ name, value }) => [name, value])),
    body,
  };
}

function decodeAllowed(bytes: Uint8Array) {
  const changes: HeaderChange[] = [];
  const removed: string[] = [];
  const responseHeaders: HeaderChange[] = [];
  const changeQuery = () => {
    throw new TypeError("the authorizer changes the query");
  };
  readFields(bytes, {
    messages: {
      2: (message) => push(changes, decodeChange(message)),
      5: (message) => push(removed, expectName(latin1(message))),
      6: (message) => push(responseHeaders, decodeChange(message)),
      7: changeQuery,
      8: changeQuery,
    },
  });
  return {
    kind: "allowed",
    changes,
    removed,
    responseHeaders: HeaderList.from(
      responseHeaders.map(({ name, value }) => [name, value]),
    ),
  } as const;
}

/** Decodes a `HeaderValueOption`. Unless it says otherwise, it replaces what the client has sent. */
function decodeChange(bytes: Uint8Array): HeaderChange {
  let name = "";
  let value = "";
  let appends = false;
  let action = 0;
  readFields(bytes, {
    numbers: { 3: (number) => action = number },
    messages: {
      1: (message) =>
        readFields(message, {
          messages: {
            1: (text) => name = latin1(text),
            2: (text) => value = latin1(text),
            3: (text) => value = value === "" ? latin1(text) : value,
          },
        }),
      2: (message) =>
        readFields(message, { numbers: { 1: (flag) => appends = flag !== 0 } }),
    },
  });
  return {
    name: expectName(name),
    value: expectValue(value),
    action: appends
      ? "append"
      : action === 1
      ? "addIfAbsent"
      : action === 3
      ? "setIfPresent"
      : "set",
  };
}

/** Decodes a `google.protobuf.Struct`. */
function decodeStruct(
  bytes: Uint8Array,
  depth: number,
): Readonly<Record<string, unknown>> {
  if (depth > MAX_DEPTH) throw new RangeError("the metadata is too deep");
  const entries: [string, unknown][] = [];
  readFields(bytes, {
    messages: {
      1: (entry) => {
        let key = "";
        let value: unknown = null;
        readFields(entry, {
          messages: {
            1: (text) => key = new TextDecoder().decode(text),
            2: (message) => value = decodeValue(message, depth + 1),
          },
        });
        push(entries, [key, value]);
      },
    },
  });
  return Object.fromEntries(entries);
}

function decodeValue(bytes: Uint8Array, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new RangeError("the metadata is too deep");
  let value: unknown = null;
  readFields(bytes, {
    numbers: { 4: (flag) => value = flag !== 0 },
    doubles: { 2: (number) => value = number },
    messages: {
      3: (text) => value = new TextDecoder().decode(text),
      5: (message) => value = decodeStruct(message, depth + 1),
      6: (message) => {
        const list: unknown[] = [];
        readFields(message, {
          messages: { 1: (each) => push(list, decodeValue(each, depth + 1)) },
        });
        value = list;
      },
    },
  });
  return value;
}

function push<T>(list: T[], item: T): void {
  if (list.length === MAX_ITEMS) {
    throw new RangeError(`expected at most ${MAX_ITEMS} items`);
  }
  list.push(item);
}
