import type { HeaderList } from "../../http/header_list.ts";

/** Directives that let caches give a response to other users (RFC 9111 section 5.2.2). */
const shared = /^(?:public|s-maxage\s*=.*|private(?:\s*=.*)?)$/i;

/** Forbids shared caches to store a response that depends on the caller. */
export function withPrivateCache(headers: HeaderList): void {
  const directives = headers.getJoined("cache-control")?.split(",") ?? [];
  const kept = directives.map((directive) => directive.trim())
    .filter((directive) => directive !== "" && !shared.test(directive));
  headers.set("cache-control", ["private", ...kept].join(", "));
}
