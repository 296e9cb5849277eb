/** Finds the routes that can be tried, in the configuration in force. */
import type {
  ShownConfiguration,
  ShownListener,
  ShownRoute,
} from "../../../responses.ts";
import type { Target } from "./relay.ts";

/** A route to try, with its name. */
export interface NamedTarget extends Target {
  readonly name: string;
  /** An MCP server, as far as the configuration says; else an LLM. */
  readonly isMcp: boolean;
  readonly isLlm: boolean;
  /** Names that its backends have for models, where the configuration has any. */
  readonly models: readonly string[];
  /** Keys of its backends. */
  readonly backends: readonly string[];
}

/** Lists the first path of each route, and those that are MCP servers. */
export function targetsOf(
  { listeners, routes, backends }: Pick<
    ShownConfiguration,
    "listeners" | "routes" | "backends"
  >,
): readonly NamedTarget[] {
  const llms = new Map(
    backends.flatMap(({ key, llm }) => llm ? [[key, llm] as const] : []),
  );
  return routes.flatMap((route): NamedTarget[] => {
    const listener = listeners[route.listener];
    const path = route.matches.find(({ path: { type, value } }) =>
      type !== "RegularExpression" && !value.startsWith("/.well-known/")
    )?.path.value;
    if (listener === undefined || path === undefined) return [];
    const own = route.backends.flatMap(({ backend = "" }) =>
      llms.get(backend) ?? []
    );
    const models = own.flatMap(({ model, aliases }) => [
      ...Object.keys(aliases),
      ...model === undefined ? [] : [model],
    ]);
    const isMcp = /(^|\/)(mcp|sse)(\/|$)/.test(path) || route.isMcp === true;
    return [{
      name: route.name,
      port: listener.port,
      url: `${originOf(listener, route)}${path}`,
      isMcp,
      backends: route.backends.flatMap(({ backend }) => backend ?? []),
      models: [...new Set(models)].filter((name) => !name.includes("*")),
      isLlm: own.length > 0 || /\/v1(\/|$)/.test(path),
    }];
  });
}

/** Guesses the origin that clients use: a hostname of the route or the listener, else localhost. */
function originOf(
  { hostname, port, protocol }: ShownListener,
  route: ShownRoute,
) {
  const isTls = protocol !== "HTTP";
  const names = [...route.hostnames, hostname].filter((name) =>
    name !== "" && !name.includes("*")
  );
  const isDefault = port === (isTls ? 443 : 80);
  return `${isTls ? "https" : "http"}://${names[0] ?? "localhost"}${
    isDefault ? "" : `:${port}`
  }`;
}
