import { Client as Client2 } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as Transport2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { EraClient, EraConnection } from "./era_features.ts";

const info = { name: "eras", version: "1.0.0" };
const answer = {
  action: "accept" as const,
  content: { answer: "forty-two" },
};
const message = {
  model: "test",
  role: "assistant" as const,
  content: { type: "text" as const, text: "from the model" },
};

/** The client of the first generation of the TypeScript SDK. */
export const sdk1Client: EraClient = {
  name: "TypeScript 1",
  era: "legacy",
  lacks: [],
  async connect(url) {
    const client = new Client1(info, {
      capabilities: { elicitation: {}, sampling: {} },
    });
    client.setRequestHandler(ElicitRequestSchema, () => answer);
    client.setRequestHandler(CreateMessageRequestSchema, () => message);
    const updates = new Updates();
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => updates.report(params.uri),
    );
    await client.connect(new Transport1(new URL(url)));
    return connectionOf(client, {
      async subscribe(uri, onUpdate) {
        const stop = updates.watch(uri, onUpdate);
        await client.subscribeResource({ uri });
        return async () => {
          stop();
          await client.unsubscribeResource({ uri });
        };
      },
      async runTask(name) {
        const stream = client.experimental.tasks.callToolStream(
          { name, arguments: {} },
          CallToolResultSchema,
          { task: { ttl: 60_000 } },
        );
        const kinds: string[] = [];
        for await (const message of stream) {
          kinds.push(message.type);
          if (message.type === "error") throw message.error;
          if (message.type === "result" && kinds.includes("taskCreated")) {
            return textOf(message.result.content);
          }
        }
        return `no task, but ${kinds}`;
      },
    });
  },
};

/** The client of the second generation of the TypeScript SDK, in either era. */
export const sdk2Clients: readonly EraClient[] = [
  {
    name: "TypeScript 2, legacy",
    era: "legacy",
    lacks: ["task"],
    connect: (url) => connect2(url, "legacy"),
  },
  {
    name: "TypeScript 2, modern",
    era: "modern",
    lacks: ["task"],
    connect: (url) => connect2(url, "modern"),
  },
];

async function connect2(
  url: string,
  era: "legacy" | "modern",
): Promise<EraConnection> {
  const client = new Client2(info, {
    capabilities: { elicitation: {}, sampling: {} },
    versionNegotiation: {
      mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" },
    },
  });
  client.setRequestHandler("elicitation/create", () => answer);
  client.setRequestHandler("sampling/createMessage", () => message);
  const updates = new Updates();
  client.setNotificationHandler(
    "notifications/resources/updated",
    ({ params }) => updates.report(params.uri),
  );
  await client.connect(new Transport2(new URL(url)));
  return connectionOf(client, {
    async subscribe(uri, onUpdate) {
      const stop = updates.watch(uri, onUpdate);
      if (era === "modern") {
        const listening = await client.listen({ resourceSubscriptions: [uri] });
        return async () => {
          stop();
          await listening.close();
        };
      }
      await client.subscribeResource({ uri });
      return async () => {
        stop();
        await client.unsubscribeResource({ uri });
      };
    },
    runTask: () => Promise.reject(new Error("The SDK has no tasks")),
  });
}

/** Members that clients of both generations have in common. */
interface CommonClient {
  listTools(): Promise<{ readonly tools: readonly { name: string }[] }>;
  listResources(): Promise<{ readonly resources: readonly { uri: string }[] }>;
  listPrompts(): Promise<{ readonly prompts: readonly { name: string }[] }>;
  readResource(
    params: { uri: string },
  ): Promise<{ readonly contents: readonly object[] }>;
  getPrompt(
    params: { name: string; arguments: Record<string, string> },
  ): Promise<{ readonly messages: readonly { readonly content: unknown }[] }>;
  close(): Promise<void>;
}

function connectionOf(
  client: Client1 | Client2,
  own: Pick<EraConnection, "subscribe" | "runTask">,
): EraConnection {
  const common: CommonClient = client;
  return {
    ...own,
    async toolNames() {
      const { tools } = await common.listTools();
      return tools.map(({ name }) => name);
    },
    async resourceUris() {
      const { resources } = await common.listResources();
      return resources.map(({ uri }) => uri);
    },
    async promptNames() {
      const { prompts } = await common.listPrompts();
      return prompts.map(({ name }) => name);
    },
    async call(name, { args = {}, onProgress, signal } = {}) {
      const params = { name, arguments: { ...args } };
      const options = {
        ...(onProgress && {
          onprogress: ({ progress }: { progress: number }) =>
            onProgress(progress),
        }),
        ...(signal && { signal }),
      };
      const { content } = client instanceof Client1
        ? await client.callTool(params, CallToolResultSchema, options)
        : await client.callTool(params, options);
      return textOf(content);
    },
    async read(uri) {
      const { contents } = await common.readResource({ uri });
      return textOf(contents);
    },
    async prompt(name, args) {
      const { messages } = await common.getPrompt({
        name,
        arguments: { ...args },
      });
      return textOf(messages.map(({ content }) => content));
    },
    [Symbol.asyncDispose]: () => common.close(),
  };
}

/** Returns the text of the first item. */
function textOf(items: unknown): string {
  const [first] = Array.isArray(items) ? items : [];
  return String(Object(first)["text"]);
}

/** Brings updates of resources to those who wait for them. */
class Updates {
  readonly #watchers = new Map<string, () => void>();

  watch(uri: string, watcher: () => void): () => void {
    this.#watchers.set(uri, watcher);
    return () => void this.#watchers.delete(uri);
  }

  report(uri: string): void {
    this.#watchers.get(uri)?.();
  }
}
