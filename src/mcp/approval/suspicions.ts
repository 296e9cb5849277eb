import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { runInSlices } from "../../base/slices.ts";
import { exposedName, foldName } from "../names/names.ts";

/** The patterns take a quarter of a millisecond for 1 KB of what nearly matches. */
const MAX_TEXT = 64 * 1024;
/** Shorter names and descriptions are alike by chance. */
const MIN_NAME = 8;
/** Clients know longer names with a hash; all that are left of one without a character would take its square of memory. */
const MAX_NAME = 64;
const MIN_DESCRIPTION = 40;
/** Tools of other servers that a tool is compared with. */
const MAX_OTHERS = 2000;
/** Descriptions are the same if they begin with the same characters. */
const COMPARED = 500;

/** Characters that people do not see: zero-width, bidirectional controls, tags, and variation selectors beyond emoji. */
const hidden =
  /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e01ef}]/u;
/** In JSON; terminals obey some of them. */
const controls = /\\u00[01]/;

/** Sentences that are for the model and not about the tool. */
const instructions: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules?|guidelines?)\b/i,
  /\b(?:do not|don't|never|without)\b.{0,40}\b(?:tell|inform|mention|notify|show|asking|telling)\b.{0,20}\b(?:the )?user\b/i,
  /<\s{0,8}\/?\s{0,8}(?:important|system|secret|instructions?)\s{0,8}>/i,
  /\bsystem prompt\b/i,
  /\b(?:before|after|whenever|instead of)\b.{0,30}\b(?:us(?:e|ing)|call(?:ing)?)\b.{0,30}\b(?:any|all|other|every)\b.{0,20}\btools?\b/i,
  /~\/\.(?:ssh|aws|config|netrc|cursor)\b|\bid_rsa\b|\/etc\/passwd\b/i,
];

/** The tools of a server of an endpoint. */
export interface ServerTools {
  readonly server: string;
  /** Beginning of the names that clients know. */
  readonly prefix: string;
  /** By the names of the server. */
  readonly items: ReadonlyMap<string, JsonObject>;
}

/** Names and descriptions of the tools of other servers, which a tool may imitate. */
export class OtherTools {
  /** Names that sentences can mention. */
  readonly names = new Set<string>();
  /** Names by what is left of them without one character, and as they are. */
  readonly #alike = new Map<string, string>();
  readonly #descriptions = new Map<string, string>();
  readonly #servers: readonly string[];

  private constructor(servers: readonly ServerTools[]) {
    this.#servers = servers.map(({ server }) => foldName(server));
  }

  /**
   * Collects the tools of other servers, in slices.
   * @param own Tools of the server itself: what it calls the same is no imitation.
   */
  static async create(
    servers: readonly ServerTools[],
    clock: Clock,
    own: ReadonlyMap<string, JsonObject> = new Map(),
  ): Promise<OtherTools> {
    const created = new OtherTools(servers);
    await runInSlices(created.#fill(servers, own), clock);
    return created;
  }

  *#fill(
    servers: readonly ServerTools[],
    own: ReadonlyMap<string, JsonObject>,
  ): Generator<void, void> {
    let count = 0;
    for (const { prefix, items } of servers) {
      for (const [name, { description }] of items) {
        if (++count > MAX_OTHERS) return;
        yield;
        this.names.add(exposedName(prefix, name));
        const text = proseOf(description);
        if (text.length >= MIN_DESCRIPTION) this.#descriptions.set(text, name);
        if (own.has(name)) continue;
        this.names.add(name);
        for (const shorter of variantsOf(foldName(name))) {
          this.#alike.set(shorter, name);
        }
      }
    }
  }

  /** Returns the tool that another one imitates by its name: a look-alike, or with the name of the other server. */
  imitatedBy(name: string): string | undefined {
    const folded = foldName(name);
    const server = this.#servers.find((each) => folded.startsWith(`${each}_`));
    if (server !== undefined) return `${server}_*`;
    return variantsOf(folded).map((each) => this.#alike.get(each))
      .find((other) => other !== undefined);
  }

  /** Returns the tool that has the same description. */
  describedAs(description: unknown): string | undefined {
    return this.#descriptions.get(proseOf(description));
  }
}

/** Returns what is suspicious about a tool, for people. */
export function suspicionsOf(
  tool: JsonObject,
  others: OtherTools,
): readonly string[] {
  const { name, title, description, inputSchema } = tool;
  const whole = JSON.stringify([name, title, description, inputSchema]);
  const text = whole.slice(0, MAX_TEXT);
  const prose = [title, description]
    .filter((each) => typeof each === "string").join("\n").slice(0, MAX_TEXT);
  // One class of characters: a long word takes no longer than others.
  const mentioned = prose.match(/[A-Za-z0-9_-]+/g)
    ?.find((word) => word.includes("_") && others.names.has(word));
  const imitated = others.imitatedBy(String(name));
  const copied = others.describedAs(description);
  return [
    ...(whole.length > MAX_TEXT ? ["it is too long to be examined"] : []),
    ...(hidden.test(text) || controls.test(text)
      ? ["it has hidden characters"]
      : []),
    ...(instructions.some((pattern) => pattern.test(text))
      ? ["it has instructions to the model"]
      : []),
    ...(imitated === undefined
      ? []
      : [`its name looks like "${imitated}", a tool of another server`]),
    ...(copied === undefined
      ? []
      : [`it has the description of "${copied}", a tool of another server`]),
    ...(mentioned === undefined
      ? []
      : [`it mentions "${mentioned}", a tool of another server`]),
  ];
}

/** Returns a name and all that are left of it without one character; names that differ in one share one. */
function variantsOf(name: string): readonly string[] {
  if (name.length < MIN_NAME) return [];
  if (name.length > MAX_NAME) return [name];
  return [
    name,
    ...Array.from(name, (_, at) => name.slice(0, at) + name.slice(at + 1)),
  ];
}

function proseOf(description: unknown): string {
  return typeof description === "string"
    ? description.slice(0, COMPARED).replace(/\s+/g, " ").trim().toLowerCase()
    : "";
}
