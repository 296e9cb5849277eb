import { systemClock } from "../../src/base/clock.ts";
import { describeError } from "../../src/base/errors.ts";
import type { ReceivedEvent } from "../ctl/trace/decode_event.ts";
import { onSignal, type signalExitCodes } from "../process/signals.ts";
import { KeyDecoder } from "./keys.ts";
import { clipboardSequence, save } from "./effects.ts";
import type { Size } from "./state/layout.ts";
import {
  addEvents,
  type Effect,
  initialModel,
  type Model,
} from "./state/model.ts";
import { type KeyInput, Screen } from "./screen.ts";
import { toTerminal } from "./style.ts";
import { update } from "./update.ts";
import { view } from "./view.ts";

/** Events to show. */
export interface TraceFeed {
  /** Source of the events, such as `gateway/default`. */
  readonly title: string;
  /** Shown until the first event. */
  readonly waitingText: string;
  readonly events: AsyncIterable<ReceivedEvent>;
  /** Begins with the list of requests: there may be several. */
  readonly hasMany?: boolean;
  /** Sends the request again; the events have a new lane. */
  readonly repeat?: () => AsyncIterable<ReceivedEvent>;
}

/** Result of a session. */
export interface TuiOutcome {
  /** Error of the event stream; `undefined` when it completed or the user quit before. */
  readonly failure: unknown;
  /** The signal that ended it. */
  readonly signal: keyof typeof signalExitCodes | undefined;
  /** True if it ended while waiting for the first event. */
  readonly sawNothing: boolean;
}

const FRAME_MS = 15;

/**
 * Shows events live until the user quits or a signal arrives. If the source fails, the events stay on the screen.
 * Always restores the terminal.
 */
export async function runTui(
  feed: TraceFeed,
  input: KeyInput,
): Promise<TuiOutcome> {
  using screen = new Screen(input, Deno.stdout);
  using session = new Session(feed, screen);
  return await session.run(input);
}

class Session implements Disposable {
  readonly #feed: TraceFeed;
  readonly #screen: Screen;
  readonly #outcome = Promise.withResolvers<TuiOutcome>();
  readonly #cleanup = new DisposableStack();
  #model: Model;
  #failure: unknown;
  /** Events that are not in the model yet. */
  #pending: ReceivedEvent[] = [];
  #isDrawPlanned = false;

  constructor(feed: TraceFeed, screen: Screen) {
    this.#feed = feed;
    this.#screen = screen;
    const page = feed.hasMany === true ? "requests" : "events";
    this.#model = initialModel(feed.title, feed.waitingText, page);
    this.#cleanup.use(onSignal("SIGWINCH", () => this.#planDraw()));
    this.#cleanup.use(onSignal("SIGCONT", () => {
      this.#screen.open();
      this.#planDraw();
    }));
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      this.#cleanup.use(onSignal(signal, () => this.#finish(signal)));
    }
    // Otherwise the process would end without restoring the terminal.
    this.#onGlobal("unhandledrejection", (event) => {
      event.preventDefault();
      this.#outcome.reject(event.reason);
    });
    this.#onGlobal("error", (event) => {
      event.preventDefault();
      this.#outcome.reject(event.error);
    });
  }

  async run(input: KeyInput): Promise<TuiOutcome> {
    this.#draw();
    // An error in either ends the session: it is thrown here, and the terminal is restored.
    const crash = (error: unknown) => this.#outcome.reject(error);
    this.#readEvents().catch(crash);
    this.#readKeys(input).catch(crash);
    return await this.#outcome.promise;
  }

  [Symbol.dispose](): void {
    this.#cleanup.dispose();
  }

  async #readEvents(): Promise<void> {
    try {
      for await (const event of this.#feed.events) {
        this.#pending.push(event);
        this.#planDraw();
      }
      this.#model = { ...this.#model, stream: { kind: "complete" } };
    } catch (error) {
      this.#failure = error;
      const reason = describeError(error);
      this.#model = { ...this.#model, stream: { kind: "lost", reason } };
    }
    this.#planDraw();
  }

  async #readKeys(input: KeyInput): Promise<void> {
    const decoder = new KeyDecoder();
    const buffer = new Uint8Array(1024);
    while (!this.#model.isDone) {
      const count = await input.read(buffer);
      if (count === null) break;
      this.#takePending();
      for (const key of decoder.decode(buffer.subarray(0, count))) {
        if (key.name === "suspend") this.#suspend();
        this.#model = update(this.#model, key, currentSize());
        await this.#takeEffects();
      }
      this.#planDraw();
    }
    this.#finish(undefined);
  }

  async #takeEffects(): Promise<void> {
    const { effects } = this.#model;
    if (effects.length === 0) return;
    this.#model = { ...this.#model, effects: [] };
    for (const effect of effects) this.#notify(await this.#perform(effect));
  }

  /** Does the work of a key; returns a message for the user. */
  async #perform(effect: Effect): Promise<string> {
    switch (effect.kind) {
      case "save":
        return await save(effect);
      case "copy": {
        const sequence = clipboardSequence(effect.text);
        if (sequence === undefined) return "too long for the clipboard";
        this.#screen.send(sequence);
        return `copied ${effect.name}: ${effect.text.length} characters`;
      }
      case "repeat": {
        const { repeat } = this.#feed;
        if (repeat === undefined) {
          return "only a request that follows -- can be sent again";
        }
        this.#model = { ...this.#model, opensNext: true };
        void this.#readRepeated(repeat());
        return "sent again, waiting for its trace…";
      }
    }
  }

  async #readRepeated(events: AsyncIterable<ReceivedEvent>): Promise<void> {
    try {
      for await (const event of events) {
        this.#notify("");
        this.#pending.push(event);
        this.#planDraw();
      }
    } catch (error) {
      this.#notify(describeError(error));
    }
  }

  #notify(notice: string): void {
    this.#model = { ...this.#model, notice };
    this.#planDraw();
  }

  /** Suspends the process like Ctrl-Z in a shell; `fg` resumes it. */
  #suspend(): void {
    if (Deno.build.os === "windows") return;
    this.#screen.close();
    Deno.kill(Deno.pid, "SIGSTOP");
  }

  #finish(signal: TuiOutcome["signal"]): void {
    const { requests, stream } = this.#model;
    const sawNothing = requests.length === 0 && stream.kind !== "complete";
    this.#outcome.resolve({ failure: this.#failure, signal, sawNothing });
  }

  #takePending(): void {
    if (this.#pending.length === 0) return;
    this.#model = addEvents(this.#model, this.#pending);
    this.#pending = [];
  }

  /** Schedules one redraw for many events. */
  #planDraw(): void {
    if (this.#isDrawPlanned) return;
    this.#isDrawPlanned = true;
    systemClock.setTimer(() => {
      this.#isDrawPlanned = false;
      try {
        this.#draw();
      } catch (error) {
        this.#outcome.reject(error);
      }
    }, FRAME_MS);
  }

  #draw(): void {
    this.#takePending();
    const size = currentSize();
    const rows = view(this.#model, size);
    this.#screen.draw(rows.map((row) => toTerminal(row, !Deno.noColor)), size);
  }

  #onGlobal<Name extends keyof WindowEventMap>(
    name: Name,
    listener: (event: WindowEventMap[Name]) => void,
  ): void {
    addEventListener(name, listener);
    this.#cleanup.defer(() => removeEventListener(name, listener));
  }
}

function currentSize(): Size {
  return Deno.consoleSize();
}
