import { hasPrefix, originalUri } from "./names.ts";

/** Prefix and name of a server, of `McpServerSettings`. */
interface NamedServer {
  readonly name: string;
  readonly prefix: string;
}

/**
 * Returns the server that a tool, prompt or resource belongs to, as far as the configuration alone says it: not if several servers
 * have no prefix, or the same one.
 * @param name Name or URI that clients use.
 */
export function owningServer(
  servers: readonly NamedServer[],
  kind: "tool" | "prompt" | "resource",
  name: string,
): string | undefined {
  const matching = servers.filter(({ prefix }) =>
    kind === "resource"
      ? originalUri(prefix, name) !== undefined
      : hasPrefix(prefix, name)
  );
  const prefixed = matching.filter(({ prefix }) => prefix !== "");
  // A URI with the prefix of a server is not one of a server without prefix.
  const candidates = kind === "resource" && prefixed.length > 0
    ? prefixed
    : matching;
  return candidates.length === 1 ? candidates[0]?.name : undefined;
}
