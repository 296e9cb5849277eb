import { createHmac, timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";
import type { Clock } from "../../../base/clock.ts";

/** Time for which a nonce is new; it is accepted for as long again. */
const PERIOD_MS = 5 * 60_000;

/** Nonces for DPoP proofs (RFC 9449 section 8), which all processes with the same secret accept and none has to remember. */
export class DpopNonces {
  readonly #clock: Clock;
  readonly #readSecret: () => Promise<string>;
  #secret: Promise<string> | undefined;

  /** @param readSecret Rejects while the store of the secret is not available. */
  constructor(clock: Clock, readSecret: () => Promise<string>) {
    this.#clock = clock;
    this.#readSecret = readSecret;
  }

  /** Returns the current nonce. */
  async current(): Promise<string> {
    return nonceOf(this.#period(), await this.#secretOf());
  }

  /** Returns whether a nonce is the current one, or the one before. */
  async rate(nonce: string): Promise<"current" | "old" | "unknown"> {
    const secret = await this.#secretOf();
    const period = this.#period();
    if (isEqual(nonce, nonceOf(period, secret))) return "current";
    return isEqual(nonce, nonceOf(period - 1, secret)) ? "old" : "unknown";
  }

  #period(): number {
    return Math.floor(this.#clock.now() / PERIOD_MS);
  }

  #secretOf(): Promise<string> {
    if (this.#secret === undefined) {
      const reading = this.#readSecret();
      this.#secret = reading;
      reading.catch(() => this.#secret = undefined);
    }
    return this.#secret;
  }
}

function nonceOf(period: number, secret: string): string {
  return createHmac("sha256", secret).update(`dpop nonce ${period}`)
    .digest("base64url");
}

function isEqual(a: string, b: string): boolean {
  return a.length === b.length &&
    timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
