import { splitHostPort } from "../../base/wire/host_port.ts";
import { isUpstreamHost } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";
import { backendCredentials } from "./credentials/credentials_schema.ts";

/** Names of the LLM providers; `src/llm/providers` has an entry for each. */
const llmProviderNames = [
  "OpenAI",
  "Anthropic",
  "Gemini",
  "Bedrock",
  "Azure",
  "Vertex",
  "OpenAICompatible",
] as const;

/** Name of an LLM provider. */
export type LlmProviderName = typeof llmProviderNames[number];

const modelName = s.named("model", s.text(256));

const pathSegment = s.pattern(
  /^[A-Za-z0-9](?:[-A-Za-z0-9._:]*[A-Za-z0-9])?$/,
  'a name of letters, digits, ":", "-", "_" and "."',
);

function requestFields(description: string) {
  const fields = s.map(s.text(128), s.json());
  return s.field(description, s.optional(s.withPrivacy("content", fields)));
}

/** An LLM provider as a backend. */
export const llmBackendSchema = s.object({
  provider: s.field(
    "The provider: decides address, paths, key header and translation.",
    s.oneOf(llmProviderNames),
  ),
  host: s.field(
    "Host of the API, with a port unless that is 443. Default: that of the provider; required for `Azure` and `OpenAICompatible`.",
    s.optional(s.named(
      "host or host:port",
      s.checkedText(
        (text) => parseLlmHost(text) !== undefined,
        'a host such as "llm.example.com" or "127.0.0.1:11434", without scheme or path',
      ),
    )),
  ),
  plainText: s.field(
    "Connects without TLS; for servers on this machine or in a trusted network.",
    s.optional(s.boolean()),
    false,
  ),
  basePath: s.field(
    "Path of the API on its host, in place of the provider's own, such as `/v1` for `OpenAI`.",
    s.optional(
      s.pattern(/^(?:\/[-A-Za-z0-9._~]+)+$/, 'a path such as "/api/v1"', 1024),
    ),
  ),
  region: s.field(
    "Region, such as `us-east-1`; required for `Bedrock` and `Vertex`.",
    s.optional(pathSegment),
  ),
  project: s.field(
    "Google Cloud project; required for `Vertex`.",
    s.optional(pathSegment),
  ),
  credentials: s.field(
    "Key of the provider, which clients never see, or tokens that the gateway sends as `Authorization: Bearer`. Clients' own credentials do not reach the provider. Default: none.",
    s.optional(backendCredentials),
  ),
  model: s.field(
    "Model for all requests, whatever the client requests.",
    s.optional(modelName),
  ),
  aliases: s.field(
    "Models of the provider, by the names that clients use for them.",
    s.optional(s.map(modelName, modelName)),
  ),
  defaults: requestFields(
    "Fields for requests that do not have them, such as `temperature`.",
  ),
  overrides: requestFields(
    "Fields for all requests, in place of the client's.",
  ),
  api: s.field(
    "API that requests are translated to, where a provider has both: OpenAI's chat completions or its responses, for models that have only these. Chat completions of clients are translated, too, then.",
    s.optional(s.oneOf(["ChatCompletions", "Responses"])),
    "ChatCompletions",
  ),
  promptCaching: s.field(
    "`Auto` marks prompts for the caches of Anthropic and Bedrock when the client has set no marks. `Client`: the marks of the client alone.",
    s.optional(s.oneOf(["Client", "Auto"])),
    "Client",
  ),
  unsupported: s.field(
    "What happens to settings of a client that only advise the provider and that its API does not have, such as `user` or `strict`: leave them out, or reject the request. Others, which change the meaning of a request, are always rejected.",
    s.optional(s.oneOf(["Drop", "Reject"])),
    "Drop",
  ),
});

/** An LLM provider as a backend. */
export type LlmBackend = s.Infer<typeof llmBackendSchema>;

/** Splits `host` or `host:port`; without a port, it is `undefined`. */
export function parseLlmHost(
  text: string,
): { readonly host: string; readonly port: number | undefined } | undefined {
  if (isUpstreamHost(text)) return { host: text, port: undefined };
  const parts = splitHostPort(text);
  return parts !== undefined && parts.port > 0 && isUpstreamHost(parts.host)
    ? parts
    : undefined;
}
