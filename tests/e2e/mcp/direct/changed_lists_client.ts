import { GatewayProcess } from "../../../harness/gateway/gateway_process.ts";
import {
  callModern,
  fetchModern,
  type ModernCall,
} from "../../../harness/mcp/modern_call.ts";

/** Requests by which each worker is reached. */
const REQUESTS = 16;
/** A client that was not told by then never is. */
const LIMIT_MS = 30_000;
const wanted = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
};

/** Starts a gateway in front of a server, whose name is `a`. */
export function startGateway(
  server: Readonly<Record<string, unknown>>,
  { workers = 2, lock, policies = {}, more = [] }: {
    readonly workers?: number;
    /** Further servers. */
    readonly more?: readonly Readonly<Record<string, unknown>>[];
    readonly lock?: Readonly<Record<string, unknown>>;
    readonly policies?: Readonly<Record<string, unknown>>;
  } = {},
): Promise<GatewayProcess> {
  const servers = [{ name: "a", ...server }, ...more];
  const mcp = { servers, ...(lock && { lock }) };
  return GatewayProcess.start({
    config: {
      config: { workers },
      routes: [{ name: "tools", policies, backends: [{ mcp }] }],
    },
  });
}

/** Returns all that a list has, of requests that reach all workers; each of them has it at hand afterwards. */
export async function listEverywhere(
  { origin }: GatewayProcess,
  method: string,
  options: ModernCall = {},
): Promise<ReadonlySet<string>> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const seen = new Set<string>();
  for (let i = 0; i < REQUESTS; i++) {
    const all = { ...options, client };
    const { result } = await callModern(`${origin}/mcp`, method, {}, all);
    const [items = []] = Object.values(result).filter(Array.isArray);
    seen.add(items.map(({ name }: { name: string }) => name).join());
  }
  return seen;
}

/** Yields the notifications of changed lists that a client gets. */
export async function* announcements(
  { origin }: { readonly origin: string },
  user?: string,
) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), LIMIT_MS);
  try {
    const response = await fetchModern(
      `${origin}/mcp`,
      "subscriptions/listen",
      { notifications: wanted },
      {
        signal: limit.signal,
        ...(user !== undefined &&
          { headers: { authorization: `Bearer key-of-${user}` } }),
      },
    );
    const text = response.body?.pipeThrough(new TextDecoderStream());
    for await (const chunk of text ?? []) {
      const methods = chunk.matchAll(/"method":"([^"]*list_changed)"/g);
      for (const [, method = ""] of methods) yield method;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Users with API keys; see `announcements`. */
const users = ["ada", "bob"];
/** API keys of the users. */
export const keys = users.map((name) => ({
  key: `key-of-${name}`,
  metadata: { name },
}));

/** Returns what the requests of each user list. */
export async function listOfUsers(gateway: GatewayProcess) {
  const listed = [];
  for (const user of users) {
    const headers = { authorization: `Bearer key-of-${user}` };
    listed.push([...await listEverywhere(gateway, "tools/list", { headers })]);
  }
  return listed;
}
