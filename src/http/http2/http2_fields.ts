import type { HeaderList } from "../header_list.ts";

/** Fields as `node:http2` takes them: `{ "set-cookie": ["a=1", "b=2"] }`. */
export function fieldsByName(
  headers: HeaderList,
): Record<string, string | string[]> {
  // Without a prototype: a field may be called "constructor".
  const fields: Record<string, string | string[]> = Object.create(null);
  headers.forEach((spelled, value) => {
    const name = spelled.toLowerCase();
    const present = fields[name];
    if (present === undefined) fields[name] = value;
    else if (typeof present === "string") fields[name] = [present, value];
    else present.push(value);
  });
  return fields;
}
