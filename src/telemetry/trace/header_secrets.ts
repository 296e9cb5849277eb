/**
 * The value of a field and what is secret in it: without its scheme, each cookie, the password of Basic.
 * @param name In lower case.
 */
export function secretsOf(name: string, value: string): readonly string[] {
  if (name === "cookie") {
    return [value, ...value.split(";").map(valueOfPair)];
  }
  if (name === "set-cookie") {
    return [value, valueOfPair(value.split(";")[0] ?? "")];
  }
  const [, scheme, credentials] = /^([\w-]+) +(.+)$/.exec(value) ?? [];
  if (credentials === undefined) return [value];
  if (scheme?.toLowerCase() !== "basic") return [value, credentials];
  return [value, credentials, ...passwordsOf(credentials)];
}

function valueOfPair(pair: string): string {
  return pair.slice(pair.indexOf("=") + 1).trim().replace(/^"(.*)"$/, "$1");
}

function passwordsOf(credentials: string): readonly string[] {
  try {
    const text = new TextDecoder().decode(Uint8Array.fromBase64(credentials));
    return [text, text.slice(text.indexOf(":") + 1)];
  } catch {
    // Not base64: it is hidden as it stands.
    return [];
  }
}
