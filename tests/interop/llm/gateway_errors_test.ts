/** Errors of the gateway itself on routes of LLMs, as the official SDKs show them. */
import Anthropic from "@anthropic-ai/sdk";
import { ApiError, GoogleGenAI } from "@google/genai";
import assert from "node:assert/strict";
import OpenAI from "openai";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { startProvider } from "../../harness/llm/provider_server.ts";

const LIMIT = 2000;

/** Fields of an error, as an SDK shows it. */
interface Shown {
  readonly status: number | undefined;
  readonly message: string;
  /** Not set where the SDK has no field for it. */
  readonly requestId?: string | null | undefined;
  /** Class of the error. */
  readonly name: string;
}

/** A chat with a model and a prompt, at a path below the gateway. */
type Ask = (origin: string, model: string, prompt: string) => Promise<unknown>;

const options = { apiKey: "client-key", maxRetries: 0 };

const sdks: Readonly<Record<string, Ask>> = {
  openai: (origin, model, content) =>
    new OpenAI({ ...options, baseURL: `${origin}/v1` }).chat.completions
      .create({ model, messages: [{ role: "user", content }] }),
  anthropic: (origin, model, content) =>
    new Anthropic({
      apiKey: null,
      authToken: "client-key",
      maxRetries: 0,
      baseURL: origin,
    }).messages.create({
      model,
      max_tokens: 9,
      messages: [{ role: "user", content }],
    }),
  genai: (baseUrl, model, contents) =>
    new GoogleGenAI({
      apiKey: "unused",
      httpOptions: {
        baseUrl,
        headers: { authorization: "Bearer client-key" },
      },
    }).models.generateContent({ model, contents }),
};

function read(error: unknown): Shown {
  const isKnown = error instanceof OpenAI.APIError ||
    error instanceof Anthropic.APIError;
  if (isKnown) {
    const { status, message, requestID: requestId } = error;
    return { status, message, requestId, name: error.constructor.name };
  }
  assert(error instanceof ApiError, String(error));
  return { status: error.status, message: error.message, name: error.name };
}

async function shownBy(ask: Promise<unknown>): Promise<Shown> {
  try {
    await ask;
  } catch (error) {
    return read(error);
  }
  throw new Error("expected an error");
}

async function openGateway() {
  const provider = startProvider();
  const gateway = await startTestGateway({
    config: { limits: { maxBodyBytes: LIMIT } },
    routes: [{
      name: "llm",
      matches: ["/v1", "/v1beta"].map((value) => ({
        path: { type: "PathPrefix", value },
      })),
      policies: {
        apiKeyAuthentication: { keys: [{ key: "client-key" }] },
        authorization: {
          policy: { matchExpressions: ["llm.requestModel != 'secret'"] },
        },
      },
      backends: [{
        llm: { provider: "OpenAI", host: provider.host, plainText: true },
      }],
    }],
  });
  return {
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const cases = [
  {
    status: 403,
    model: "secret",
    prompt: "Hello",
    path: "",
    message: /the request is not allowed/,
    names: {
      openai: "PermissionDeniedError",
      anthropic: "PermissionDeniedError",
    },
  },
  {
    status: 404,
    model: "m",
    prompt: "Hello",
    path: "/nowhere",
    message: /route/,
    names: { openai: "NotFoundError", anthropic: "NotFoundError" },
  },
  {
    status: 413,
    model: "m",
    prompt: "x".repeat(LIMIT),
    path: "",
    message: /body|bytes/,
    names: { openai: "APIError", anthropic: "ContentTooLargeError" },
  },
];

for (const [sdk, ask] of Object.entries(sdks)) {
  for (const { status, model, prompt, path, message, names } of cases) {
    Deno.test(`the SDK ${sdk} shows a ${status} of the gateway with its reason and request ID`, async () => {
      await using opened = await openGateway();
      const { origin, accessLog } = opened.gateway;

      const shown = await shownBy(ask(origin + path, model, prompt));

      assert.equal(shown.status, status);
      assert.match(shown.message, message);
      const [, logged] = /request\.id=(\S+)/.exec(accessLog.at(-1) ?? "") ?? [];
      assert(logged !== undefined, accessLog.join(""));
      // The SDK of Google has no field for it: it is in the body of the error, which becomes the message.
      if (sdk === "genai") assert(shown.message.includes(logged));
      else assert.equal(shown.requestId, logged);
      if (sdk === "openai" || sdk === "anthropic") {
        assert.equal(shown.name, names[sdk]);
      }
    });
  }
}
