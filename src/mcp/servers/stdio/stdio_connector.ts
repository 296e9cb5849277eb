import { Cancellation } from "../../../base/cancellation.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { Era } from "../../protocol/revisions.ts";
import type { ServerConnection } from "../server_connection.ts";
import type {
  ConnectingClient,
  ConnectorOptions,
  ServerConnector,
} from "../server_connector.ts";
import { ServerFailure } from "../failures/server_failure.ts";
import { openProcess } from "./open_process.ts";
import type { ProcessGuard } from "./process_guard.ts";
import { ProcessLog } from "./process_log.ts";
import { type LiveServer, ProcessSlot } from "./process_slot.ts";
import { ServerProcess } from "./server_process.ts";
import type { StdioCommand } from "./stdio_command.ts";
import { StdioConnection } from "./stdio_connection.ts";

/** Sets of capabilities, which clients choose, for each of which a user has a process. */
const MAX_CAPABILITY_SETS = 4;

/** Users of a process. */
interface SlotOwner {
  /** As `ServerConnector.scopeOf`; empty for lists, and for all users. */
  readonly scope: string;
  readonly capabilities: JsonObject;
}

/** Starts the processes of a server that speaks over stdio. */
export class StdioConnector implements ServerConnector {
  readonly #command: StdioCommand;
  readonly #options: ConnectorOptions;
  readonly #guard: ProcessGuard;
  readonly #log: ProcessLog;
  /** By scope, then by capabilities. */
  readonly #slots = new Map<string, Map<string, ProcessSlot>>();
  /** Of its own: an endpoint that ends may not be the only one. */
  readonly #closing = new Cancellation();
  #era: Era | undefined;

  constructor(
    command: StdioCommand,
    guard: ProcessGuard,
    options: ConnectorOptions,
  ) {
    this.#command = command;
    this.#guard = guard;
    this.#options = { ...options, closing: this.#closing };
    this.#log = new ProcessLog(
      options.settings.name,
      command.secrets,
      options,
    );
  }

  scopeOf(user: string): string {
    return this.#command.isShared ? "" : user;
  }

  async connect(
    { user, capabilities }: ConnectingClient,
  ): Promise<ServerConnection> {
    const scope = this.scopeOf(user);
    const own = () => this.#slotOf({ scope, capabilities });
    const listing = () => this.#slotOf({ scope: "", capabilities });
    const slot = own().isRunning ? own() : listing();
    const about = await slot.use(({ connection }) =>
      Promise.resolve(connection.about)
    );
    const names = JSON.stringify(capabilities);
    return new StdioConnection(about, {
      own,
      ownKey: `${scope}\n${names}`,
      listing,
      listingKey: `\n${names}`,
    });
  }

  isStale({ about: { era } }: ServerConnection): boolean {
    return this.#era !== undefined && this.#era !== era;
  }

  forget(): void {
    this.#era = undefined;
  }

  retire(): void {
    for (const slot of this.#allSlots()) slot.retire();
  }

  async close(): Promise<void> {
    const { name } = this.#options.settings;
    const problem = "is not used any more";
    this.#closing.cancel(new ServerFailure(name, "broken", problem));
    await Promise.all(this.#allSlots().map((slot) => slot.close()));
  }

  #allSlots(): readonly ProcessSlot[] {
    return [...this.#slots.values()].flatMap((slots) => [...slots.values()]);
  }

  #slotOf({ scope, capabilities }: SlotOwner): ProcessSlot {
    const slots = this.#slots.getOrInsertComputed(scope, () => new Map());
    const wanted = JSON.stringify(capabilities);
    const isKnown = slots.has(wanted) || slots.size < MAX_CAPABILITY_SETS - 1;
    const passed = isKnown ? capabilities : {};
    const key = isKnown ? wanted : "{}";
    const known = slots.get(key);
    if (known !== undefined) return known;
    const { clock } = this.#options;
    const slot = new ProcessSlot({
      clock,
      idleMs: this.#command.idleMs,
      start: () => this.#start({ scope, capabilities: passed }),
      onUnused: () => {
        if (slots.get(key) === slot) slots.delete(key);
        const isOwn = this.#slots.get(scope) === slots;
        if (slots.size === 0 && isOwn) this.#slots.delete(scope);
      },
    });
    slots.set(key, slot);
    return slot;
  }

  async #start({ scope, capabilities }: SlotOwner): Promise<LiveServer> {
    const { settings: { name }, clock, closing, onListsChanged } =
      this.#options;
    const isForAll = scope === "";
    try {
      if (closing.cancelled) throw closing.reason;
      if (!isForAll) await this.#makeRoom();
      const live = await openProcess(
        () =>
          ServerProcess.start({
            name,
            command: this.#command,
            guard: this.#guard,
            clock,
            log: this.#log,
            onListsChanged,
          }),
        this.#era,
        capabilities,
        this.#options,
      );
      this.#era = live.connection.about.era;
      return live;
    } catch (failure) {
      if (!(failure instanceof ServerFailure)) throw failure;
      // The process of one user says nothing about those of others.
      const kind = isForAll ? "unreachable" : "failed";
      const { problem, cause } = failure;
      throw new ServerFailure(name, kind, problem, { cause });
    }
  }

  /** Ends the process that was used least recently, if there are too many. @throws {ServerFailure} */
  async #makeRoom(): Promise<void> {
    const { maxProcesses } = this.#command;
    const running = [...this.#slots].filter(([scope]) => scope !== "")
      .flatMap(([, slots]) => [...slots.values()])
      .filter(({ isRunning }) => isRunning);
    if (running.length < maxProcesses) return;
    const [oldest] = running.filter(({ isIdle }) => isIdle)
      .sort((a, b) => a.usedAt - b.usedAt);
    if (oldest === undefined) {
      const { name } = this.#options.settings;
      const problem = `has ${maxProcesses} processes, and all are in use`;
      throw new ServerFailure(name, "failed", problem);
    }
    await oldest.stop();
  }
}
