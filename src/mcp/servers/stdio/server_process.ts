import type { Cancellation } from "../../../base/cancellation.ts";
import { type Clock, inTime } from "../../../base/clock.ts";
import { parseRpc, readMessage } from "../../protocol/rpc_messages.ts";
import { MessageRouter } from "../duplex/message_router.ts";
import type { DuplexConnection } from "../duplex/duplex_links.ts";
import { ServerFailure } from "../failures/server_failure.ts";
import { LongLine, readLines } from "./line_reader.ts";
import type { ProcessGuard } from "./process_guard.ts";
import type { ProcessLog } from "./process_log.ts";
import { RatePause } from "./rate_pause.ts";
import { inheritedVariables, type StdioCommand } from "./stdio_command.ts";

/** Dependencies of a process. */
export interface ProcessOptions {
  /** Name of the server. */
  readonly name: string;
  readonly command: StdioCommand;
  readonly guard: ProcessGuard;
  readonly clock: Clock;
  readonly log: ProcessLog;
  /** As `ConnectorOptions.onListsChanged`. */
  onListsChanged(): void;
}

/** Limit of one message. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
const MAX_MESSAGES_PER_SECOND = 2000;
const MAX_BYTES_PER_SECOND = 32 * 1024 * 1024;
/** Time between two measurements of memory. */
const MEASURE_MS = 2000;
/** Time to end by itself, after the end of the input and after SIGTERM. */
const GRACE_MS = 1000;
/** Exit codes of the shell for a program that it cannot start. */
const NOT_EXECUTABLE = 126;
const NOT_FOUND = 127;

/** Waits until the process is guarded, then becomes the program, without what the shell adds to the environment. */
const LAUNCHER = 'read -r _ || exit 0; unset PWD OLDPWD SHLVL _; exec "$@"';

/** A process of a server, with what it has started: one group, which ends as a whole. */
export class ServerProcess implements DuplexConnection {
  readonly router: MessageRouter;
  readonly #options: ProcessOptions;
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #ended = Promise.withResolvers<void>();
  #stopMeasuring: (() => void) | undefined;
  #isStopping = false;
  #exitCode: number | undefined;

  /** Starts a process that cannot outlive the gateway. @throws {ServerFailure} */
  static async start(options: ProcessOptions): Promise<ServerProcess> {
    let process: ServerProcess | undefined;
    try {
      process = new ServerProcess(options);
      await options.guard.add(process.#child.pid);
      await process.#input.write(encoder.encode("\n"));
      return process;
    } catch (cause) {
      await process?.stop();
      const problem =
        "cannot be started: /bin/sh or the working directory is missing";
      throw new ServerFailure(options.name, "unreachable", problem, { cause });
    }
  }

  private constructor(options: ProcessOptions) {
    const { command: { command, args, env, cwd }, log } = options;
    this.#options = options;
    this.router = new MessageRouter(this.send, () => options.onListsChanged());
    this.#child = new Deno.Command("/bin/sh", {
      args: ["-c", LAUNCHER, "sh", command, ...args],
      clearEnv: true,
      env: { ...inheritedEnvironment(), ...env },
      ...(cwd !== undefined && { cwd }),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    const output = this.#readOutput();
    const errors = log.read(this.#child.stderr);
    void this.#waitForEnd(output, errors);
    this.#measureLater();
  }

  /** True once the gateway ends the process. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Reason for which the process does not respond any more; `undefined` while it does. */
  get failure(): unknown {
    return this.router.failure;
  }

  /** False after the shell has found that it cannot start the program. */
  get isStartable(): boolean {
    return this.#exitCode !== NOT_FOUND && this.#exitCode !== NOT_EXECUTABLE;
  }

  /** Resolves when nothing of the process is left. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  readonly send = async (
    text: string,
    cancellation?: Cancellation,
  ): Promise<void> => {
    if (cancellation?.cancelled) throw cancellation.reason;
    try {
      await this.#input.write(encoder.encode(`${text}\n`));
    } catch (cause) {
      await this.#endWithout("input", cause);
      await this.ended;
      throw this.failure;
    }
  };

  /** Ends the process: it may end by itself, then it is ended. */
  async stop(): Promise<void> {
    if (this.#isStopping) return await this.ended;
    this.#isStopping = true;
    this.router.end(this.#failure("is stopped"));
    this.#input.close().catch(() => {});
    const { clock } = this.#options;
    const terminate = clock.setTimer(() => this.#signal("SIGTERM"), GRACE_MS);
    const kill = clock.setTimer(() => this.#signal("SIGKILL"), 2 * GRACE_MS);
    await this.ended;
    terminate();
    kill();
  }

  async #readOutput(): Promise<void> {
    const { clock, log } = this.#options;
    const rate = new RatePause(
      clock,
      MAX_MESSAGES_PER_SECOND,
      MAX_BYTES_PER_SECOND,
    );
    const lines = readLines(this.#child.stdout, MAX_LINE_BYTES);
    try {
      for await (const line of lines) {
        const message = readMessage(parseRpc(line));
        if (message !== undefined) this.router.receive(message);
        else log.write("An MCP server wrote a line that is not JSON-RPC", line);
        await rate.count(line.length);
      }
      await this.#endWithout("output");
    } catch (error) {
      const isLong = error instanceof LongLine;
      this.#kill(isLong ? "sent a message that is too long" : "broke off");
      if (!isLong) throw error;
    }
  }

  async #waitForEnd(
    output: Promise<void>,
    errors: Promise<void>,
  ): Promise<void> {
    const { guard, clock } = this.#options;
    const { pid, status } = this.#child;
    const { code, signal } = await status;
    this.#exitCode = code;
    this.#stopMeasuring?.();
    // Its descendants do not outlive it, and would keep the pipes open.
    this.#signal("SIGKILL");
    // Descendants that have left the group could keep the pipes open.
    const read = Promise.allSettled([output, errors]);
    await inTime(clock, GRACE_MS, read);
    this.router.end(this.#failure(describeExit(code, signal)));
    await this.#input.abort().catch(() => {});
    await guard.remove(pid);
    this.#ended.resolve();
  }

  #measureLater(): void {
    const { clock } = this.#options;
    this.#stopMeasuring = clock.setTimer(
      () => void this.#measure(),
      MEASURE_MS,
    );
  }

  async #measure(): Promise<void> {
    const { guard, command: { maxMemoryBytes } } = this.#options;
    const used = await guard.memoryOf(this.#child.pid);
    if (used !== undefined && used > maxMemoryBytes) {
      const limit = Math.round(maxMemoryBytes / 2 ** 20);
      this.#kill(`used more than ${limit} MiB of memory`);
    } else if (!this.router.isOver) this.#measureLater();
  }

  /** Ends a process that has closed a stream, if it does not end by itself, as most do. */
  async #endWithout(
    stream: "input" | "output",
    cause?: unknown,
  ): Promise<void> {
    const { clock } = this.#options;
    const status = await inTime(clock, GRACE_MS, this.#child.status);
    if (status !== undefined || this.#isStopping) return;
    this.#kill(`closed its standard ${stream}`, cause);
  }

  #kill(problem: string, cause?: unknown): void {
    this.router.end(this.#failure(problem, cause));
    this.#signal("SIGKILL");
  }

  #signal(signal: Deno.Signal): void {
    try {
      Deno.kill(-this.#child.pid, signal);
    } catch (error) {
      const isExpected = error instanceof Deno.errors.NotFound ||
        error instanceof Deno.errors.PermissionDenied;
      // The whole group has ended, or has another user now.
      if (!isExpected) throw error;
    }
  }

  #failure(problem: string, cause?: unknown): ServerFailure {
    return new ServerFailure(this.#options.name, "broken", problem, { cause });
  }
}

function inheritedEnvironment(): Record<string, string> {
  return Object.fromEntries(inheritedVariables.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

function describeExit(code: number, signal: Deno.Signal | null): string {
  if (code === NOT_FOUND) return "cannot be started: there is no such program";
  if (code === NOT_EXECUTABLE) return "cannot be started: no permission";
  return signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
}

const encoder = new TextEncoder();
