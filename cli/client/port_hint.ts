import { systemClock } from "../../src/base/clock.ts";
import { send } from "./admin_connection.ts";

/** Address of an admin interface by default. */
const DEFAULT_ADDRESS = "localhost:15000";

/** Time limit of each request. */
const TIMEOUT_MS = 500;

/** Returns lines on what is at an address that is not an admin interface, and where one is; empty if neither is known. */
export async function portHint(
  name: string,
  fallback = DEFAULT_ADDRESS,
): Promise<string> {
  if (name.startsWith("unix:")) return "";
  const [found, atDefault] = await Promise.all([
    identify(name),
    name === fallback ? undefined : identify(fallback),
  ]);
  const about = found === undefined ? "" : descriptions[found](name);
  const other = atDefault === "admin"
    ? `\nAn admin interface is at ${fallback}, the default: omit -p and --admin`
    : "";
  return about + other;
}

type Role = "admin" | "requests" | "stats";

const descriptions: Readonly<Record<Role, (name: string) => string>> = {
  admin: () => "",
  requests: (name) =>
    `\n${name} is a listener of a gateway, for requests; "config.adminAddr" is the admin interface`,
  stats: (name) =>
    `\n${name} has metrics and health ("config.statsAddr"); "config.adminAddr" is the admin interface`,
};

/** Finds out what part of a gateway listens there, without a token; `undefined` for anything else. */
async function identify(name: string): Promise<Role | undefined> {
  try {
    const logging = await get(name, "/logging");
    if (logging.isListener) return "requests";
    const isAdmin = logging.text.startsWith("current log level is ") ||
      logging.status === 401;
    if (isAdmin) return "admin";
    const health = await get(name, "/healthz/live");
    return health.text === "ok\n" ? "stats" : undefined;
  } catch {
    // A hint is not worth an error of its own.
    return undefined;
  }
}

async function get(name: string, pathAndQuery: string) {
  using result = await send(name, {
    method: "GET",
    pathAndQuery,
    token: undefined,
    timeoutMs: TIMEOUT_MS,
  }, systemClock);
  const { headers, status, body } = result.response;
  const reader = body?.getReader();
  const { value } = await reader?.read() ?? {};
  return {
    status,
    isListener: headers.has("x-gateway-error"),
    text: new TextDecoder().decode(value?.subarray(0, 100)),
  };
}
