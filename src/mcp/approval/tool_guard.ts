import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Log } from "../../base/log/log.ts";
import { runInSlices } from "../../base/slices.ts";
import type { McpServerSettings } from "../servers/mcp_settings.ts";
import { ServerFailure } from "../servers/failures/server_failure.ts";
import { OtherTools, type ServerTools, suspicionsOf } from "./suspicions.ts";
import type { ToolLock } from "../servers/tool_approval.ts";
import { heldReason, lockedTool } from "./tool_lock.ts";
import type { ToolPins } from "./tool_pins.ts";

const SHOWN_TOOLS = 5;
const MAX_REPORTS = 1000;

/** The tools of a server, by its own names. */
type Tools = ReadonlyMap<string, JsonObject>;

/** Number of tools in the latest list of a server. */
export interface ToolCounts {
  /** Clients do not get them. */
  readonly held: number;
  /** See `suspicionsOf`; some of them may be held back, too. */
  readonly suspicious: number;
}

/** Decision about a list, valid as long as the same is approved, and no server lists anything else. */
interface Verdict {
  readonly lock: ToolLock | undefined;
  /** Hashes of the lists of all servers. */
  readonly state: string;
  readonly admitted: Tools;
  readonly counts: ToolCounts;
}

/** Holds back tools that are not as approved, and logs those and suspicious ones, each once. */
export class ToolGuard {
  readonly #backend: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #pins: ToolPins;
  readonly #reported = new Set<string>();
  /** Approved tools of servers without a lock file. */
  #locks = new Map<string, ToolLock | undefined>();
  /** The latest list of each server. */
  readonly #latest = new Map<string, ServerTools & { readonly hash: string }>();
  readonly #verdicts = new Map<string, Verdict>();

  /** @param backend Key of the backend, for the pins. */
  constructor(backend: string, pins: ToolPins, log: Log, clock: Clock) {
    this.#backend = backend;
    this.#pins = pins;
    this.#log = log;
    this.#clock = clock;
  }

  /** Returns the tools that clients may get. @throws {ServerFailure} When nobody knows what is approved. */
  async admitted(
    { name, prefix, approval }: McpServerSettings,
    items: Tools,
  ): Promise<Tools> {
    const lock = await this.lockOf({ name, approval }, items);
    const hash = await runInSlices(hashing(items.values()), this.#clock);
    this.#latest.set(name, { server: name, prefix, items, hash });
    const lists = [...this.#latest.values()];
    const state = lists.map(({ hash }) => hash).join();
    const known = this.#verdicts.get(name);
    if (known?.lock === lock && known?.state === state) return known.admitted;
    const others = await OtherTools.create(
      lists.filter(({ server }) => server !== name),
      this.#clock,
      items,
    );
    const tools = await runInSlices(judge(items, lock, others), this.#clock);
    const held = tools.filter(({ isHeld }) => isHeld).map(({ key }) => key);
    const suspicious = tools.filter(({ problems }) => problems.length > 0);
    for (const { item, problems } of suspicious) {
      this.#reportSuspicion(name, item, problems);
    }
    if (held.length > 0) this.#reportHeld(name, held);
    const admitted = new Map(
      tools.filter(({ isHeld }) => !isHeld).map(({ key, item }) => [key, item]),
    );
    const counts = { held: held.length, suspicious: suspicious.length };
    this.#verdicts.set(name, { lock, state, admitted, counts });
    return admitted;
  }

  /** Returns the approved tools of a server, `undefined` if all are. @throws {ServerFailure} When nobody knows. */
  async lockOf(
    { name, approval }: Pick<McpServerSettings, "name" | "approval">,
    items: Tools,
  ): Promise<ToolLock | undefined> {
    if (approval === undefined) return undefined;
    if (approval.kind === "file") return approval.lock;
    const place = { backend: this.#backend, server: name };
    const trusts = approval.newTools === "Trust";
    // A lock that was read before `forget` is not kept after it.
    const locks = this.#locks;
    try {
      const known = locks.get(name) ?? await this.#pins.read(place);
      const isComplete = known !== undefined &&
        (!trusts || items.keys().every((key) => known.has(key)));
      // A server that has just started may have no tools yet.
      const lock = isComplete || items.size === 0
        ? known
        : await this.#pins.pin(place, lockedTools(items), trusts);
      locks.set(name, lock);
      return lock ?? nothing;
    } catch (error) {
      const problem = "has tools, but the store of approved tools fails";
      const failure = new ServerFailure(name, "failed", problem);
      this.#report(
        `store ${name}`,
        () => this.#log.error(failure.message, { error }),
      );
      throw failure;
    }
  }

  /** Counts the tools of a server; `undefined` before its first list. */
  countsOf(server: string): ToolCounts | undefined {
    return this.#verdicts.get(server)?.counts;
  }

  /** Forgets what is approved without a lock file, because it has changed. */
  forget(): void {
    this.#locks = new Map();
  }

  #reportSuspicion(
    server: string,
    item: JsonObject,
    problems: readonly string[],
  ): void {
    this.#report(
      `suspicion ${server} ${hashOf(item)} ${problems}`,
      () =>
        this.#log.warn("A tool of an MCP server is suspicious", {
          server,
          tool: String(item["name"]),
          problems: problems.join("; "),
        }),
    );
  }

  #reportHeld(server: string, held: readonly string[]): void {
    this.#report(
      `held ${server} ${held.join("\n")}`,
      () =>
        this.#log.warn("Tools of an MCP server wait for approval", {
          server,
          tools: held.length,
          first: held.slice(0, SHOWN_TOOLS).join(", "),
        }),
    );
  }

  #report(id: string, report: () => void): void {
    if (this.#reported.has(id) || this.#reported.size >= MAX_REPORTS) return;
    this.#reported.add(id);
    report();
  }
}

const nothing: ToolLock = new Map();

function* judge(items: Tools, lock: ToolLock | undefined, others: OtherTools) {
  const judged = [];
  for (const [key, item] of items) {
    const isHeld = heldReason(lock, item) !== undefined;
    judged.push({ key, item, isHeld, problems: suspicionsOf(item, others) });
    yield;
  }
  return judged;
}

function hashOf(item: JsonObject): string {
  return createHash("sha256").update(JSON.stringify(item)).digest("base64url");
}

/** Hashes a list, of which each item is a step. */
function* hashing(items: Iterable<JsonObject>) {
  const hash = createHash("sha256");
  for (const item of items) {
    hash.update(JSON.stringify(item)).update("\n");
    yield;
  }
  return hash.digest("base64url");
}

function lockedTools(items: Tools) {
  return new Map(items.entries().map(([key, item]) => [key, lockedTool(item)]));
}
