import type { SourceNode } from "../parts/source_node.ts";

/** Copies of the requests of a route. */
export interface MirrorImport {
  readonly filters: readonly object[];
  /** The backend that receives them. */
  readonly backends: readonly object[];
}

/** Denominator of parts that are no whole percentage. */
const FINE = 10_000;

/** Imports the copies of the requests of a route; the last source wins. @param route Name of the route. */
export function importMirrors(
  sources: readonly (SourceNode | undefined)[],
  route: string,
): MirrorImport {
  const found = sources.flatMap((each) => each?.get("requestMirror") ?? [])
    .at(-1);
  const address = found?.get("backend")?.get("host")?.text();
  const [, host, port] = /^(.+):(\d+)$/.exec(address ?? "") ?? [];
  if (host === undefined) {
    found?.reject(
      "requestMirror: only a backend with host:port has a counterpart",
    );
    return { filters: [], backends: [] };
  }
  const name = `${route}-mirror`;
  const part = Number(found?.get("percentage")?.text() ?? 1);
  const fraction = { numerator: Math.round(part * FINE), denominator: FINE };
  const share = Number.isInteger(part * 100)
    ? { percent: part * 100 }
    : { fraction };
  return {
    filters: [{
      type: "RequestMirror",
      requestMirror: { backendRef: { name }, ...share },
    }],
    backends: [{ name, static: { host, port: Number(port) } }],
  };
}
