import { Cancellation } from "../../base/cancellation.ts";
import { type Clock, pause } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import { redactUrl } from "../../base/redaction.ts";
import { EgressPolicy } from "../../base/wire/egress_policy.ts";
import type { Settings } from "../../api/settings.ts";
import {
  addressOfUrl,
  fetchDocument,
} from "../../identity/documents/document_client.ts";
import {
  type BudgetNotice,
  GivenNotices,
} from "../../policy/keys/notice_board.ts";

/** Dependencies of the notices of a process. */
export interface BudgetNoticeOptions {
  readonly settings: Pick<Settings, "budgetWebhook" | "egress">;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns whether this process is the one of the fleet that gives the notice. */
  readonly claim: (notice: BudgetNotice) => Promise<boolean>;
}

/** Notices that wait for the webhook; further ones are in the log only. */
const MAX_WAITING = 100;
/** Pauses before the second and the third attempt. */
const pausesMs = [1000, 5000];

/** Counts of notices, for metrics. */
export interface NoticeCounts {
  readonly given: number;
  /** Those that the webhook did not accept. */
  readonly failed: number;
}

/** Gives notice of budgets: in the log, as a metric, and to a webhook; once in a window and in all processes that share the store. */
export class BudgetNotices {
  readonly #options: BudgetNoticeOptions;
  readonly #given: GivenNotices;
  readonly #egress: EgressPolicy;
  readonly #abort = new AbortController();
  readonly #closed = new Cancellation();
  readonly #counts = { given: 0, failed: 0 };
  #waiting = 0;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: BudgetNoticeOptions) {
    const { clock, log, settings } = options;
    this.#options = options;
    this.#given = new GivenNotices(clock);
    this.#egress = new EgressPolicy({ settings: settings.egress, log, clock });
  }

  get counts(): NoticeCounts {
    return { ...this.#counts };
  }

  /** Gives a notice, unless it was given. */
  async give(notice: BudgetNotice): Promise<void> {
    if (!this.#given.add(notice)) return;
    const { claim, log, settings: { budgetWebhook } } = this.#options;
    if (!await claim(notice)) return;
    this.#counts.given++;
    log.warn("Budget threshold reached", { ...notice });
    if (budgetWebhook === undefined) return;
    if (this.#waiting >= MAX_WAITING) return void this.#counts.failed++;
    this.#waiting++;
    this.#sending = this.#sending.then(() => this.#send(budgetWebhook, notice))
      .finally(() => this.#waiting--);
  }

  /** Gives up what waits for the webhook. */
  async close(): Promise<void> {
    const reason = new Error("the gateway stops");
    this.#abort.abort(reason);
    this.#closed.cancel(reason);
    await this.#sending;
  }

  async #send(
    { url, authorization }: NonNullable<Settings["budgetWebhook"]>,
    notice: BudgetNotice,
  ): Promise<void> {
    const { clock, log } = this.#options;
    const at = new Date(clock.now()).toISOString();
    const body = JSON.stringify({ type: "budget", at, ...notice });
    let failure: unknown;
    for (const pauseMs of [0, ...pausesMs]) {
      if (pauseMs > 0) await pause(clock, pauseMs, this.#abort.signal);
      if (this.#abort.signal.aborted) break;
      try {
        const { status } = await fetchDocument(addressOfUrl(url), {
          clock,
          egress: this.#egress,
          cancellation: this.#closed,
          body,
          authorization,
        });
        if (status < 300) return;
        failure = new Error(`it returned ${status}`);
      } catch (error) {
        failure = error;
      }
    }
    this.#counts.failed++;
    log.warn("Cannot notify the webhook of budgets", {
      url: redactUrl(url),
      error: failure,
    });
  }
}
