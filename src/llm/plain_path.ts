/** In other paths, all servers read the same. */
const ambiguous = /[%;\\]|\/[./]/;
const encoded = /%([0-7][0-9a-f])/gi;
/** A path that has passed several servers was encoded by each of them at most once. */
const MAX_DECODINGS = 3;

/**
 * Returns the path of a target as the most lenient server reads it: `/v1/chat/completions` for `/v1/chat%2Fcompletions;a=b?c`. ASCII
 * is decoded, a backslash is a slash, and empty and dot segments, parameters after `;` and the query are gone. It serves to
 * recognize requests, never to forward them.
 */
export function plainPath(target: string): string {
  const path = beforeQuery(target);
  return ambiguous.test(path) ? normalize(path) : path;
}

function normalize(path: string): string {
  let decoded = path;
  for (let count = 0; count < MAX_DECODINGS; count++) {
    const next = decoded.replace(
      encoded,
      (_, code) => String.fromCharCode(Number.parseInt(code, 16)),
    );
    if (next === decoded) break;
    decoded = next;
  }
  const segments: string[] = [];
  for (const part of beforeQuery(decoded).split(/[\\/]/)) {
    const [segment = ""] = part.split(";", 1);
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  return `/${segments.join("/")}`;
}

/** An encoded end of the string, or of the path, ends it for some servers. */
function beforeQuery(target: string): string {
  const end = target.search(/[?#\0]/);
  return end < 0 ? target : target.slice(0, end);
}
