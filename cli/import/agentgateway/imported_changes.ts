import type { SourceNode } from "../parts/source_node.ts";

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/** Imports rules for cross-origin requests. */
export function importCors(source: SourceNode) {
  const maxAge = source.get("maxAge")?.text();
  const [, count, unit = "s"] = /^([0-9]+)([smh])?$/.exec(maxAge ?? "") ?? [];
  const seconds = Number(count) * (unitSeconds[unit] ?? 1);
  if (maxAge !== undefined && !(seconds > 0)) {
    source.get("maxAge")?.reject("maxAge: expected a duration, such as 600s");
  }
  return {
    allowOrigins: source.get("allowOrigins")?.texts(),
    allowMethods: source.get("allowMethods")?.texts(),
    allowHeaders: source.get("allowHeaders")?.texts(),
    exposeHeaders: source.get("exposeHeaders")?.texts(),
    ...(source.get("allowCredentials")?.isTrue() === true &&
      { allowCredentials: true }),
    ...(seconds > 0 && { maxAge: seconds }),
  };
}

/** Imports changes of headers. */
export function importHeaders(source: SourceNode) {
  return {
    set: pairsOf(source.get("set")),
    add: pairsOf(source.get("add")),
    remove: source.get("remove")?.texts(),
  };
}

/** Imports transformations; the expressions stay as they are. */
export function importTransformations(source: SourceNode) {
  const side = (name: string) => {
    const found = source.get(name);
    if (found === undefined) return undefined;
    return { ...importHeaders(found), body: found.get("body")?.text() };
  };
  return { request: side("request"), response: side("response") };
}

/** Returns named values, which the file has as a mapping or a list of pairs. */
function pairsOf(source: SourceNode | undefined) {
  return source?.members().flatMap(([name, value]) => {
    const text = value.text();
    return text === undefined ? [] : [{ name, value: text }];
  });
}

/** Imports a rewrite of host and path. */
export function importRewrite(source: SourceNode) {
  const authority = source.get("authority");
  const hostname = authority?.get("host")?.text() ??
    authority?.get("full")?.text();
  if (hostname !== undefined && hostname.includes(":")) {
    authority?.reject("authority: expected a host without a port");
    return undefined;
  }
  return { hostname, path: importPath(source.get("path")) };
}

/** Imports a redirect. */
export function importRedirect(source: SourceNode) {
  const authority = source.get("authority");
  const [host, port] = authority?.get("full")?.text()?.split(":") ?? [];
  return {
    scheme: source.get("scheme")?.text(),
    hostname: host ?? authority?.get("host")?.text(),
    port: authority?.get("port")?.number() ??
      (port === undefined ? undefined : Number(port)),
    path: importPath(source.get("path")),
    statusCode: source.get("status")?.number(),
  };
}

function importPath(source: SourceNode | undefined) {
  const full = source?.get("full")?.text();
  if (full !== undefined) {
    return { type: "ReplaceFullPath", replaceFullPath: full };
  }
  const prefix = source?.get("prefix")?.text();
  return prefix === undefined
    ? undefined
    : { type: "ReplacePrefixMatch", replacePrefixMatch: prefix };
}
