import { equalsIgnoringCase, type HeaderList } from "./header_list.ts";

/** Connection-specific options of a message. */
export interface ConnectionFields {
  /** `Connection: close`: the sender ends the connection after this message. */
  readonly close: boolean;
  /** `Connection: keep-alive`, which HTTP/1.0 requires for a persistent connection. */
  readonly keepAlive: boolean;
  /** `TE: trailers`: the sender accepts trailer fields. */
  readonly acceptsTrailers: boolean;
  /** Value of `Upgrade` if `Connection` names it, such as `websocket`. */
  readonly upgrade: string | undefined;
}

const noFields: ConnectionFields = {
  close: false,
  keepAlive: false,
  acceptsTrailers: false,
  upgrade: undefined,
};

/** The usual values of `Connection`, which need not be split. */
const usualFields: ReadonlyMap<string, ConnectionFields> = new Map([
  ["close", { ...noFields, close: true }],
  ["keep-alive", { ...noFields, keepAlive: true }],
]);

/**
 * Fields that are kept even if `Connection` names them.
 *
 * They are meant for all recipients, so naming them is the sender's mistake (RFC 9110 section 7.6.1). Removing them would let
 * clients strip fields that backends rely on, such as credentials or those of a trusted proxy.
 */
const endToEnd = new RegExp(
  "^(?:(?:proxy-)?authorization|(?:www|proxy)-authenticate|(?:set-)?cookie|host|via|forwarded|origin|referer|range|vary" +
    "|date|expect|age|cache-control|last-event-id|strict-transport-security|traceparent|tracestate|x-request-id|x-real-ip" +
    "|x-forwarded-.*|content-.*|access-control-.*|sec-.*|mcp-.*)$",
);

/**
 * Reads and removes hop-by-hop fields: the standard ones and those that `Connection` names (RFC 9110 section 7.6.1), except
 * end-to-end fields.
 *
 * Call it after determining the framing: it also removes `Transfer-Encoding`.
 */
export function takeConnectionFields(headers: HeaderList): ConnectionFields {
  if (!headers.some(isHopByHop)) return noFields;
  const connection = headers.getJoined("connection");
  const te = headers.getJoined("te");
  const upgrade = headers.getJoined("upgrade");
  headers.deleteWhere(isHopByHop);
  const usual = te === undefined && connection !== undefined
    ? usualFields.get(connection)
    : undefined;
  if (usual !== undefined) return usual;
  const options = listOf(connection);
  for (const name of options) {
    if (!endToEnd.test(name)) headers.delete(name);
  }
  return {
    close: options.includes("close"),
    keepAlive: options.includes("keep-alive"),
    acceptsTrailers: listOf(te).includes("trailers"),
    upgrade: options.includes("upgrade") ? upgrade : undefined,
  };
}

/** Reports whether a field is hop-by-hop. Compares the length first: it runs for each field of each message. */
function isHopByHop(name: string): boolean {
  switch (name.length) {
    case 2:
      return equalsIgnoringCase(name, "te");
    case 7:
      return equalsIgnoringCase(name, "upgrade");
    case 10:
      return equalsIgnoringCase(name, "connection") ||
        equalsIgnoringCase(name, "keep-alive");
    case 16:
      return equalsIgnoringCase(name, "proxy-connection");
    case 17:
      return equalsIgnoringCase(name, "transfer-encoding");
    default:
      return false;
  }
}

/** Splits a comma-separated list into lower-case members. */
function listOf(value: string | undefined): string[] {
  if (value === undefined) return [];
  return value.toLowerCase().split(",").map((member) => member.trim())
    .filter((member) => member !== "");
}
