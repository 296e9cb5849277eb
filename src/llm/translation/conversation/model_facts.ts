import type { Effort } from "./conversation.ts";

/** Models whose facts are remembered, and the length of their names: clients choose them. */
const MAX_KNOWN_MODELS = 256;
const MAX_KNOWN_LENGTH = 128;

/** Facts of models by patterns of their names, the first match counts. */
class FactTable<Facts> {
  readonly #rows: readonly (readonly [RegExp, Facts])[];
  readonly #known = new Map<string, Facts | undefined>();

  constructor(rows: readonly (readonly [RegExp, Facts])[]) {
    this.#rows = rows;
  }

  find(model: string): Facts | undefined {
    const known = this.#known.get(model);
    if (known !== undefined || this.#known.has(model)) return known;
    const found = this.#rows.find(([pattern]) => pattern.test(model))?.[1];
    if (model.length > MAX_KNOWN_LENGTH) return found;
    if (this.#known.size >= MAX_KNOWN_MODELS) this.#known.clear();
    this.#known.set(model, found);
    return found;
  }
}

/** Settings that a model of Anthropic accepts. */
export interface ClaudeFacts {
  /** `thinking.budget_tokens`; the newest reject it. */
  readonly budget?: true;
  /** `thinking.type: adaptive`, which goes with a forced tool. */
  readonly adaptive?: true;
  /** Values of `output_config.effort`. */
  readonly efforts?: readonly Effort[];
  /** `temperature`, `top_p` and `top_k`. */
  readonly samples?: true;
  /** `output_config.format` and `strict` of tools. */
  readonly formats?: true;
  /** The same at Bedrock, which documents fewer models. */
  readonly bedrockFormats?: true;
  /** Messages with the role `system`. */
  readonly lateSystem?: true;
}

const upToHigh = ["low", "medium", "high"] as const;
const upToMax = [...upToHigh, "max"] as const;
const all = [...upToHigh, "xhigh", "max"] as const;
const newest: ClaudeFacts = { adaptive: true, efforts: all, formats: true };
const budgets = { budget: true, samples: true } as const;

/** Models of Anthropic, the first match counts; from the documentation of Anthropic and of Bedrock, 2026-08-22. */
const claudes = new FactTable<ClaudeFacts>([
  [/claude-(?:fable|mythos)-|claude-opus-(?:4-8|5)/, {
    ...newest,
    lateSystem: true,
  }],
  [/claude-opus-4-7|claude-(?:opus|sonnet|haiku)-(?:[5-9]|\d\d)(?!\d)/, newest],
  [/claude-(?:opus|sonnet)-4-6/, {
    ...budgets,
    adaptive: true,
    efforts: upToMax,
    formats: true,
    bedrockFormats: true,
  }],
  [/claude-opus-4-5/, {
    ...budgets,
    efforts: upToHigh,
    formats: true,
    bedrockFormats: true,
  }],
  [/claude-(?:sonnet|haiku)-4-5/, {
    ...budgets,
    formats: true,
    bedrockFormats: true,
  }],
  [/claude-opus-4-1/, { ...budgets, formats: true }],
]);

/** Returns what a model of Anthropic accepts, under its name at any provider; unknown ones are like the oldest. */
export function claudeFacts(model: string): ClaudeFacts {
  return claudes.find(model) ?? budgets;
}

/** Settings that a model of OpenAI, or of a compatible server, accepts. */
export interface OpenAiFacts {
  /** Values of `reasoning_effort`; empty for models that do not reason. */
  readonly efforts: readonly Effort[];
  /** `temperature`, `top_p` and penalties: always, while it does not reason, or never. */
  readonly samples: "always" | "withoutReasoning" | "never";
  /** It reasons unless told otherwise. */
  readonly reasons?: true;
  /** `prompt_cache_breakpoint` of texts and images. */
  readonly breakpoints?: true;
  /** Most tokens of an answer, where clients of other models want more. */
  readonly maxTokens?: number;
}

const optional = {
  efforts: ["none", ...upToHigh, "xhigh"],
  samples: "withoutReasoning",
} as const;
const always = { samples: "never", reasons: true } as const;
const unreasoning: OpenAiFacts = { efforts: [], samples: "always" };

/** Models of OpenAI, the first match counts; from its documentation, 2026-08-22. */
const openAis = new FactTable<OpenAiFacts>([
  [/gpt-5\.\d+-chat/, { ...always, efforts: ["medium"] }],
  [/gpt-5-chat/, unreasoning],
  [/gpt-5\.[2-9]-pro/, { ...always, efforts: ["medium", "high", "xhigh"] }],
  [/gpt-5-pro/, { ...always, efforts: ["high"] }],
  [/gpt-5\.6/, {
    ...optional,
    efforts: ["none", ...all],
    reasons: true,
    breakpoints: true,
  }],
  [/gpt-5\.5/, { ...optional, reasons: true }],
  [/gpt-5\.1-codex-max/, { ...always, efforts: [...upToHigh, "xhigh"] }],
  [/gpt-5\.1-codex/, { ...always, efforts: upToHigh }],
  [/gpt-5\.1/, { ...optional, efforts: ["none", ...upToHigh] }],
  [/gpt-5\.\d/, optional],
  [/gpt-5/, { ...always, efforts: ["minimal", ...upToHigh] }],
  [/(?:^|\/)o1-(?:mini|preview)/, { ...always, efforts: [] }],
  [/(?:^|\/)o\d/, { ...always, efforts: upToHigh }],
  [/gpt-4o/, { ...unreasoning, maxTokens: 16_384 }],
  [/gpt-4\.1/, { ...unreasoning, maxTokens: 32_768 }],
  [/gpt-4-turbo|gpt-4-(?:0125|1106)|gpt-3\.5/, {
    ...unreasoning,
    maxTokens: 4096,
  }],
  [/gpt-[34]|chatgpt|davinci|babbage/, unreasoning],
]);

/** Returns what a model of OpenAI accepts; of an unknown one, most is assumed. */
export function openAiFacts(model: string): OpenAiFacts {
  return openAis.find(model) ??
    { efforts: ["none", ...upToHigh], samples: "always" };
}

/** Settings for the reasoning of a model of Gemini: a number of tokens, or one of these levels. */
export interface GeminiFacts {
  readonly levels: readonly Effort[] | undefined;
  /** Least number of tokens; 0 if reasoning can be turned off. */
  readonly minTokens: number;
}

/** Models of Gemini, the first match counts; from its documentation, 2026-08-22. */
const geminis = new FactTable<GeminiFacts>([
  [/gemini-3(?:\.1)?-pro|gemini-3\.7-flash/, {
    levels: upToHigh,
    minTokens: 0,
  }],
  [/gemini-(?:[3-9]|\d\d)/, {
    levels: ["minimal", ...upToHigh],
    minTokens: 0,
  }],
  [/gemini-2\.5-pro/, { levels: undefined, minTokens: 128 }],
]);

/** Returns how a model of Gemini is told to reason. */
export function geminiFacts(model: string): GeminiFacts {
  return geminis.find(model) ?? { levels: undefined, minTokens: 0 };
}

/** Models that Bedrock documents structured outputs for, beside Claude; 2026-08-22. */
const converseFormats =
  /(?:magistral-small|ministral-3|mistral-large-3|voxtral|qwen3|gemma-3-(?:12|27)b|zai\.|glm-|moonshot|kimi|minimax-m2|nemotron-nano)/;
/** Models that Bedrock caches prompts of. */
const converseCaches = /claude|nova/;
const noCaches = /claude-(?:v|instant|[12]|3-(?:opus|sonnet|haiku))/;

/** Settings that a model at Bedrock accepts, beside `ClaudeFacts`. */
export interface ConverseFacts {
  readonly isClaude: boolean;
  /** `outputConfig.textFormat` and `strict` of tools. */
  readonly formats: boolean;
  /** `cachePoint`. */
  readonly caches: boolean;
  /** Efforts of models other than Claude, and the field of their own that has it. */
  readonly reasoning:
    | { readonly field: string; readonly efforts: readonly Effort[] }
    | undefined;
}

const converseReasoning = new FactTable<ConverseFacts["reasoning"]>([
  [/gpt-oss/, { field: "reasoning_effort", efforts: upToHigh }],
  [/qwen3/, { field: "reasoning_config", efforts: ["low", "high"] }],
]);

/** Returns what a model at Bedrock accepts; an inference profile does not tell, and is assumed to be one of Claude. */
export function converseFacts(model: string): ConverseFacts {
  const isProfile = model.startsWith("arn:") &&
    !model.includes("foundation-model/");
  const isClaude = model.includes("claude") || isProfile;
  return {
    isClaude,
    formats: isClaude
      ? claudeFacts(model).bedrockFormats === true
      : converseFormats.test(model),
    reasoning: converseReasoning.find(model),
    caches: isProfile || converseCaches.test(model) && !noCaches.test(model),
  };
}
