/** Columns of the tables in docs/conformance/mcp_eras.md; `tests/interop/eras/python/features.py` has the same. */
export const features = [
  "tools",
  "resources",
  "prompts",
  "elicitation",
  "sampling",
  "progress",
  "cancel",
  "subscription",
  "task",
  "resumption",
] as const;

/** A column of the tables. */
export type Feature = (typeof features)[number];

/** A use of a server by a client: `awaited` calls a tool that has to run as a task. */
export type Check = Feature | "awaited";

/** Era of a peer, as `Era` of the gateway. */
export type Era = "legacy" | "modern";

/** A peer of the table: an SDK, in one era. */
export interface Peer {
  /** As in the table, such as `TypeScript 2, modern`. */
  readonly name: string;
  readonly era: Era;
  /** Features that the SDK does not have, or not in this era. */
  readonly lacks: readonly Feature[];
}

/** A server of the table, as the gateway reaches it. */
export interface EraServer extends Peer, AsyncDisposable {
  /** Name of the server in the configuration, and so prefix of its tools. */
  readonly prefix: string;
  readonly url: string;
}

/** A client that is connected to the gateway. */
export interface EraConnection extends AsyncDisposable {
  toolNames(): Promise<readonly string[]>;
  resourceUris(): Promise<readonly string[]>;
  promptNames(): Promise<readonly string[]>;
  /** Returns the text of the result. */
  call(
    tool: string,
    options?: {
      readonly args?: Readonly<Record<string, string>>;
      readonly onProgress?: (progress: number) => void;
      readonly signal?: AbortSignal;
    },
  ): Promise<string>;
  read(uri: string): Promise<string>;
  prompt(name: string, args: Readonly<Record<string, string>>): Promise<string>;
  /** Reports updates of a resource until the returned function is called. */
  subscribe(uri: string, onUpdate: () => void): Promise<() => Promise<void>>;
  /** Runs a tool as a task; returns the text of the result. */
  runTask(tool: string): Promise<string>;
}

/** A client of the table. */
export interface EraClient extends Peer {
  connect(url: string): Promise<EraConnection>;
}

/** Result of a check: `yes`, or the error. */
export type Outcome = string;

const LIMIT_MS = 15_000;

/** Uses one feature of a server behind the gateway. */
export async function check(
  client: EraConnection,
  feature: Check,
  server: string,
): Promise<Outcome> {
  const limit = Promise.withResolvers<string>();
  const timer = setTimeout(() => limit.resolve("timed out"), LIMIT_MS);
  try {
    return await Promise.race([
      checks[feature](client, server).then((seen) =>
        seen ? "yes" : "another result"
      ),
      limit.promise,
    ]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}

const checks: Readonly<
  Record<Check, (client: EraConnection, server: string) => Promise<boolean>>
> = {
  async tools(client, server) {
    const names = await client.toolNames();
    const text = await client.call(`${server}_echo`, { args: { text: "hi" } });
    return names.includes(`${server}_echo`) && text === "hi";
  },
  async resources(client, server) {
    const uri = `${server}+note://one`;
    const uris = await client.resourceUris();
    return uris.includes(uri) && await client.read(uri) === "one";
  },
  async prompts(client, server) {
    const names = await client.promptNames();
    const text = await client.prompt(`${server}_greet`, { name: "Ada" });
    return names.includes(`${server}_greet`) && text === "Hello Ada";
  },
  async elicitation(client, server) {
    return await client.call(`${server}_ask`) === "forty-two";
  },
  async sampling(client, server) {
    return await client.call(`${server}_sample`) === "from the model";
  },
  async progress(client, server) {
    const seen: number[] = [];
    await client.call(`${server}_count`, {
      onProgress: (progress) => seen.push(progress),
    });
    return seen.join() === "1,2,3";
  },
  async cancel(client, server) {
    const before = await client.call(`${server}_cancelled`);
    const abort = new AbortController();
    await client.call(`${server}_wait`, {
      signal: abort.signal,
      // The call has reached the server.
      onProgress: () => abort.abort(),
    }).catch(() => {});
    while (await client.call(`${server}_cancelled`) === before) await pause();
    return true;
  },
  async subscription(client, server) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = await client.subscribe(`${server}+note://one`, resolve);
    let isUpdated = false;
    void promise.then(() => isUpdated = true);
    // The stream from the server opens after the answer to the subscription.
    while (!isUpdated) {
      await client.call(`${server}_touch`);
      await pause();
    }
    await stop();
    return true;
  },
  async task(client, server) {
    return await client.runTask(`${server}_work`) === "done";
  },
  async awaited(client, server) {
    return await client.call(`${server}_work`) === "done";
  },
  async resumption(client, server) {
    return await client.call(`${server}_resume`) === "resumed";
  },
};

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}
