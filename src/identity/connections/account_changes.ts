import type { Clock } from "../../base/clock.ts";
import type { GatewayUser } from "./user_login.ts";

/** A change that a user has made, or tried to make, on the pages for accounts. */
export interface AccountChange {
  /** ISO 8601. */
  readonly at: string;
  /** The user has logged in on the pages. */
  readonly access: "page";
  readonly user: GatewayUser;
  /** `connect` or `disconnect`, and the key of the backend or MCP server. */
  readonly action: string;
  /** `done`, `rejected`, `failed`, or how it has ended otherwise. */
  readonly outcome: string;
}

/** The last changes, newest first, and how many older ones are no longer kept. */
export interface KeptChanges {
  readonly changes: readonly AccountChange[];
  readonly omitted: number;
}

/** Changes that are kept; new ones replace the oldest. */
const MAX_CHANGES = 256;

/** Keeps the last changes of accounts, in memory; the log keeps them longer. */
export class AccountChanges {
  readonly #clock: Pick<Clock, "now">;
  readonly #changes: AccountChange[] = [];
  #count = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  add({ user, ...what }: Omit<AccountChange, "at" | "access">): void {
    this.#count++;
    if (this.#changes.length >= MAX_CHANGES) this.#changes.shift();
    const at = new Date(this.#clock.now()).toISOString();
    const { issuer, subject } = user;
    const entry = { at, access: "page", user: { issuer, subject } } as const;
    this.#changes.push({ ...entry, ...what });
  }

  read(): KeptChanges {
    const changes = this.#changes.toReversed();
    return { changes, omitted: this.#count - changes.length };
  }
}
