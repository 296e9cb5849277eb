import type { JsonObject } from "../../base/json.ts";

const MAX_TEXT = 256 * 1024;
const MAX_NAMES = 1000;

/** Characters that people do not see: zero-width, bidirectional controls, tags, and variation selectors beyond emoji. */
const hidden =
  /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e01ef}]/u;
/** In JSON; terminals obey some of them. */
const controls = /\\u00[01]/;

/** Sentences that are for the model and not about the tool. */
const instructions: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules?|guidelines?)\b/i,
  /\b(?:do not|don't|never|without)\b.{0,40}\b(?:tell|inform|mention|notify|show|asking|telling)\b.{0,20}\b(?:the )?user\b/i,
  /<\s*\/?\s*(?:important|system|secret|instructions?)\s*>/i,
  /\bsystem prompt\b/i,
  /\b(?:before|after|whenever|instead of)\b.{0,30}\b(?:us(?:e|ing)|call(?:ing)?)\b.{0,30}\b(?:any|all|other|every)\b.{0,20}\btools?\b/i,
  /~\/\.(?:ssh|aws|config|netrc|cursor)\b|\bid_rsa\b|\/etc\/passwd\b/i,
];

/**
 * Returns what is suspicious about a tool, for people.
 * @param others Names of tools of other servers, as clients know them.
 */
export function suspicionsOf(
  tool: JsonObject,
  others: readonly string[],
): readonly string[] {
  const text = JSON.stringify([
    tool["name"],
    tool["title"],
    tool["description"],
    tool["inputSchema"],
  ]).slice(0, MAX_TEXT);
  const prose = [tool["title"], tool["description"]]
    .filter((each) => typeof each === "string").join("\n").slice(0, MAX_TEXT);
  const imitated = others.slice(0, MAX_NAMES).find((name) =>
    name.includes("_") && prose.includes(name)
  );
  return [
    ...(hidden.test(text) || controls.test(text)
      ? ["it has hidden characters"]
      : []),
    ...(instructions.some((pattern) => pattern.test(text))
      ? ["it has instructions to the model"]
      : []),
    ...(imitated === undefined
      ? []
      : [`it mentions "${imitated}", a tool of another server`]),
  ];
}
