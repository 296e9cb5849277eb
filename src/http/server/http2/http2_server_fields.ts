import type { OutgoingHttpHeaders } from "node:http2";
import { HeaderList } from "../../header_list.ts";
import { fieldsByName } from "../../http2/http2_fields.ts";

/** What HTTP/2 says in other ways (RFC 9113 section 8.2.2). */
const connectionSpecific = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Whether a field has no place in HTTP/2; `name` in lower case. */
export function isConnectionSpecific(name: string): boolean {
  return connectionSpecific.has(name);
}

/** Header block of a response or an interim one. */
export function outgoingFields(
  status: number,
  headers: HeaderList,
): OutgoingHttpHeaders {
  const fields = outgoingTrailers(headers);
  fields[":status"] = status;
  return fields;
}

/** The fields that HTTP/2 has a place for, by name. */
export function outgoingTrailers(headers: HeaderList): OutgoingHttpHeaders {
  const fields = fieldsByName(headers);
  for (const name of connectionSpecific) delete fields[name];
  return fields;
}

/** Trailer fields as they were received, without what only a header may say. */
export function incomingTrailers(
  fields: Readonly<Record<string, string | string[] | number | undefined>>,
): HeaderList {
  const list = new HeaderList();
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith(":") || isConnectionSpecific(name)) continue;
    for (const one of [value].flat()) {
      if (one !== undefined) list.append(name, String(one));
    }
  }
  return list;
}
