import { describeError } from "../../base/errors.ts";
import { isJsonObject } from "../../base/json.ts";
import { type KvRecords, updating } from "../../kv/kv_records.ts";
import { OAuthError } from "../oauth/protocol/oauth_error.ts";
import { sha256 } from "../oauth/protocol/seal.ts";
import type { BrowserSession } from "./browser_session.ts";
import type { EndedSessions } from "./logout_token.ts";
import type { OpenIdClient } from "./openid_client.ts";

/** Dependencies of the marks. */
interface EndedMarksOptions {
  readonly client: Pick<OpenIdClient, "issuer" | "clientId">;
  /** Shared with other workers and replicas. */
  readonly records: KvRecords;
  /** Sessions end so long after the login. */
  readonly absoluteMs: number;
}

/** Difference between the clocks of replicas. */
export const CLOCK_SKEW_MS = 60_000;

/** Marks of sessions that have ended before their time, in the records. */
export class EndedMarks {
  readonly #options: EndedMarksOptions;

  constructor(options: EndedMarksOptions) {
    this.#options = options;
  }

  /** Reports whether a session has ended. @throws {OAuthError} When the store is not available. */
  async has(
    { id, subject, claims, issuedAt }: BrowserSession,
  ): Promise<boolean> {
    const { records } = this.#options;
    const { sid } = claims;
    const marks = [
      this.#keyOf("session", id),
      this.#keyOf("sub", subject),
      ...(typeof sid === "string" ? [this.#keyOf("sid", sid)] : []),
    ];
    const entries = await Promise.all(marks.map((key) => records.read(key)))
      .catch(unavailable);
    return entries.some(({ value }) =>
      isJsonObject(value) && !(Number(value["at"]) < issuedAt)
    );
  }

  /** Ends a session. @throws {OAuthError} When the store is not available. */
  async end({ id }: BrowserSession): Promise<void> {
    await this.#mark("session", id, Infinity);
  }

  /** Ends sessions that the provider has ended. @throws {OAuthError} When the store is not available. */
  async endAll({ sid, subject, issuedAt }: EndedSessions): Promise<void> {
    if (sid !== undefined) await this.#mark("sid", sid, issuedAt);
    else if (subject !== undefined) await this.#mark("sub", subject, issuedAt);
  }

  /** @param at In seconds, by the clock of the provider: sessions that began until then have ended. */
  async #mark(
    kind: "session" | "sid" | "sub",
    name: string,
    at: number,
  ): Promise<void> {
    const { records, absoluteMs } = this.#options;
    await updating(records).update(this.#keyOf(kind, name), (value) => {
      const before = isJsonObject(value) ? Number(value["at"]) : 0;
      const latest = Math.min(Math.max(at, before), Number.MAX_SAFE_INTEGER);
      const expireInMs = absoluteMs + CLOCK_SKEW_MS;
      return { value: { at: latest }, expireInMs };
    }).catch(unavailable);
  }

  /** Key of a mark; it does not say whose sessions have ended. */
  #keyOf(kind: string, name: string): Deno.KvKey {
    const { issuer, clientId } = this.#options.client;
    const digest = sha256(JSON.stringify([issuer, clientId, kind, name]));
    return ["oidc", "ended", digest];
  }
}

/** Reports that the store is not available. @throws {OAuthError} */
export function unavailable(error: unknown): never {
  throw new OAuthError(
    "temporarily_unavailable",
    "the sessions of the gateway are not available",
    describeError(error),
    5,
  );
}
