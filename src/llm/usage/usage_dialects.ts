/** Counts that usage objects have; of input and output, `audio…` is the part that is speech, and `image…` that of images, which have prices of their own. */
const countNames = [
  "input",
  "output",
  "cached",
  "cacheCreation",
  "total",
  "audioInput",
  "audioCached",
  "audioOutput",
  "imageInput",
  "imageOutput",
] as const;

/** Counts of a usage object. */
export type Counts = Partial<Record<typeof countNames[number], number>>;

/** Of Ollama, llama.cpp, TGI, which reports the output only, and watsonx. */
const plain = {
  input:
    "prompt_eval_count | tokens_evaluated | input_length | input_token_count",
  output:
    "eval_count | tokens_predicted | generated_tokens | generated_token_count",
};
/** Names of counts that stand beside others in an object, in place of one of their own. */
export const plainFields: readonly string[] = [plain.input, plain.output]
  .flatMap((names) => names.split(" | "));

/**
 * Naming schemes of usage objects, in the order in which they are looked for. `names` are those of which an object has at least one. Of
 * the places of a count, the first that has it is read; `a + b` is the sum of what is there.
 */
export const dialects = {
  /** OpenAI chat, embeddings and compatible APIs: DeepSeek, Mistral and gateways name cached tokens differently. */
  chat: compile({
    names: "prompt_tokens | completion_tokens | prompt_cache_hit_tokens",
    input: "prompt_tokens | prompt_cache_hit_tokens + prompt_cache_miss_tokens",
    output: "completion_tokens",
    cached:
      "prompt_tokens_details.cached_tokens | cache_read_input_tokens | prompt_cache_hit_tokens | num_cached_tokens",
    cacheCreation:
      "prompt_tokens_details.cache_write_tokens | cache_creation_input_tokens",
    total: "total_tokens",
    audioInput: "prompt_tokens_details.audio_tokens",
    audioCached: "prompt_tokens_details.cached_tokens_details.audio_tokens",
    audioOutput: "completion_tokens_details.audio_tokens",
    imageInput: "prompt_tokens_details.image_tokens",
    imageOutput: "completion_tokens_details.image_tokens",
  }),
  /** OpenAI responses and Anthropic messages: the same names, but Anthropic's input excludes the cache. */
  snake: compile({
    names:
      "input_tokens | output_tokens | cache_read_input_tokens | cache_creation_input_tokens",
    input: "input_tokens",
    output: "output_tokens",
    cached:
      "input_tokens_details.cached_tokens | input_token_details.cached_tokens | cache_read_input_tokens",
    // `cache_creation` is a breakdown of this number and must not be added.
    cacheCreation:
      "input_tokens_details.cache_write_tokens | input_token_details.cache_write_tokens | cache_creation_input_tokens",
    total: "total_tokens",
    audioInput:
      "input_tokens_details.audio_tokens | input_token_details.audio_tokens",
    audioCached:
      "input_tokens_details.cached_tokens_details.audio_tokens | input_token_details.cached_tokens_details.audio_tokens",
    audioOutput:
      "output_tokens_details.audio_tokens | output_token_details.audio_tokens",
    imageInput:
      "input_tokens_details.image_tokens | input_token_details.image_tokens",
    imageOutput:
      "output_tokens_details.image_tokens | output_token_details.image_tokens",
  }),
  gemini: compile({
    names:
      "promptTokenCount | candidatesTokenCount | thoughtsTokenCount | totalTokenCount",
    input: "promptTokenCount + toolUsePromptTokenCount",
    output: "candidatesTokenCount + thoughtsTokenCount",
    cached: "cachedContentTokenCount",
    total: "totalTokenCount",
  }),
  /** Bedrock: `…TokenCount` are its own counts in a stream, independent of the model; responses repeat those of the cache. */
  converse: compile({
    names:
      "inputTokens | outputTokens | totalTokens | inputTokenCount | outputTokenCount",
    input: "inputTokens | inputTokenCount",
    output: "outputTokens | outputTokenCount",
    cached: "cacheReadInputTokens | cacheReadInputTokenCount",
    cacheCreation: "cacheWriteInputTokens | cacheWriteInputTokenCount",
    total: "totalTokens",
  }),
  plain: compile({ names: plainFields.join(" | "), ...plain }),
};

/** Name of a naming scheme. */
export type DialectName = "chat" | "snake" | "gemini" | "converse" | "plain";

/** Alternatives, each a sum of paths. */
export type Places = readonly (readonly (readonly string[])[])[];

interface Dialect {
  readonly names: readonly string[];
  readonly places: readonly (readonly [keyof Counts, Places])[];
}

function compile(
  { names, ...counts }:
    & { readonly names: string }
    & Partial<Record<keyof Counts, string>>,
): Dialect {
  const read = (places: string) =>
    places.split(" | ").map((sum) =>
      sum.split(" + ").map((path) => path.split("."))
    );
  const places = countNames.flatMap((name) => {
    const text = counts[name];
    return text === undefined ? [] : [[name, read(text)] as const];
  });
  return { names: names.split(" | "), places };
}
