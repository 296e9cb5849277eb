import type { HeaderList } from "./header_list.ts";

/** What the sender said about this connection alone. */
export interface ConnectionFields {
  /** `Connection: close`: the sender ends the connection after this message. */
  readonly close: boolean;
  /** `Connection: keep-alive`, which an HTTP/1.0 sender has to say. */
  readonly keepAlive: boolean;
  /** `TE: trailers`: the sender reads trailer fields. */
  readonly acceptsTrailers: boolean;
  /** Value of `Upgrade` if `Connection` names it, such as `websocket`. */
  readonly upgrade: string | undefined;
}

const nothingSaid: ConnectionFields = {
  close: false,
  keepAlive: false,
  acceptsTrailers: false,
  upgrade: undefined,
};

/**
 * Fields that stay although `Connection` names them.
 *
 * They are meant for every recipient, so naming them is the sender's mistake (RFC 9110 section 7.6.1). Obeying would let a
 * client strip what a backend decides by: who is calling, or what a trusted proxy before us found out.
 */
const endToEnd = new RegExp(
  "^(?:(?:proxy-)?authorization|(?:www|proxy)-authenticate|(?:set-)?cookie|host|via|forwarded|origin|referer|range|vary" +
    "|date|expect|age|cache-control|last-event-id|strict-transport-security|traceparent|tracestate|x-request-id|x-real-ip" +
    "|x-forwarded-.*|content-.*|access-control-.*|sec-.*|mcp-.*)$",
);

/**
 * Reads the fields that concern one connection only and removes them: the standard ones and those that
 * `Connection` names (RFC 9110 section 7.6.1), except fields that must reach every recipient.
 *
 * Determine the framing before: `Transfer-Encoding` goes as well.
 */
export function takeConnectionFields(headers: HeaderList): ConnectionFields {
  const connection = headers.getJoined("connection");
  const te = headers.getJoined("te");
  const upgrade = headers.getJoined("upgrade");
  if (!headers.deleteWhere(isHopByHop)) return nothingSaid;
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

/** Tells by the length first: it is asked for each field of each message. */
function isHopByHop(name: string): boolean {
  switch (name.length) {
    case 2:
      return name.toLowerCase() === "te";
    case 7:
      return name.toLowerCase() === "upgrade";
    case 10: {
      const lower = name.toLowerCase();
      return lower === "connection" || lower === "keep-alive";
    }
    case 16:
      return name.toLowerCase() === "proxy-connection";
    case 17:
      return name.toLowerCase() === "transfer-encoding";
    default:
      return false;
  }
}

/** Members of a comma-separated list, in lower case. */
function listOf(value: string | undefined): string[] {
  if (value === undefined) return [];
  return value.toLowerCase().split(",").map((member) => member.trim())
    .filter((member) => member !== "");
}
