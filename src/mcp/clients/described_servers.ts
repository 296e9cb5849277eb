import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { CatalogServer } from "../catalog/server_entries.ts";
import { TASKS_EXTENSION } from "../protocol/revisions.ts";
import type { ServerAbout } from "../servers/server_connection.ts";
import { takesTasks } from "../servers/awaited_tasks.ts";
import { runsTasks } from "./task_methods.ts";
import type { Client } from "./client.ts";

const MAX_INSTRUCTIONS = 32 * 1024;

/** Capabilities that the gateway declares to a client: those of all servers that respond in time. */
export interface DescribedServers {
  readonly capabilities: JsonObject;
  readonly instructions?: string;
}

/** Connects to all servers, and describes them as one. */
export async function describeServers(
  servers: readonly CatalogServer[],
  client: Client,
): Promise<DescribedServers> {
  const known = await Promise.allSettled(
    servers.map(async ({ server }): Promise<[string, ServerAbout]> => {
      const { failure } = server.health;
      if (failure !== undefined) throw failure;
      return [server.name, (await client.connect(server)).about];
    }),
  );
  const abouts = known.flatMap((each) =>
    each.status === "fulfilled" ? [each.value] : []
  );
  // A server that comes back may have anything.
  const isPartial = abouts.length < servers.length;
  const has = (name: string) =>
    abouts.some(([, { capabilities }]) => capabilities[name] !== undefined);
  const subscribes = abouts.some(([, { capabilities: { resources } }]) =>
    isJsonObject(resources) && Boolean(resources["subscribe"])
  );
  const listed = { listChanged: true };
  const instructions = joinInstructions(abouts);
  return {
    capabilities: {
      ...((has("tools") || isPartial) && { tools: listed }),
      ...((has("prompts") || isPartial) && { prompts: listed }),
      ...((has("resources") || isPartial) && {
        resources: { ...listed, ...(subscribes && { subscribe: true }) },
      }),
      ...(has("completions") && { completions: {} }),
      ...(has("logging") && { logging: {} }),
      ...tasksOf(client, abouts.map(([, about]) => about)),
    },
    ...(instructions !== "" && { instructions }),
  };
}

/** Clients can run tasks at servers of their own era. */
function tasksOf(
  { era }: Client,
  abouts: readonly ServerAbout[],
): JsonObject {
  if (era === "modern") {
    const has = abouts.some((about) =>
      about.era === "modern" && takesTasks(about.capabilities)
    );
    return has ? { extensions: { [TASKS_EXTENSION]: {} } } : {};
  }
  return abouts.some(runsTasks)
    ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
    : {};
}

/** Joins instructions; if all are too long together, each has its share, so that no server takes that of others. */
function joinInstructions(
  abouts: readonly (readonly [name: string, about: ServerAbout])[],
): string {
  const texts = abouts.flatMap(([name, { instructions = "" }]) =>
    instructions === "" ? [] : [
      abouts.length === 1 ? instructions : `# ${name}\n\n${instructions}`,
    ]
  );
  const joined = texts.join("\n\n");
  if (joined.length <= MAX_INSTRUCTIONS) return joined;
  const share = Math.floor(MAX_INSTRUCTIONS / texts.length);
  return texts.map((text) => text.slice(0, share).toWellFormed()).join("\n\n");
}
