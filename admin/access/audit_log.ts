import type { Clock } from "../../src/base/clock.ts";
import type { Log } from "../../src/base/log/log.ts";
import { escapeControls } from "../../src/base/log/log_text.ts";
import type { AdminRole } from "../../src/api/admin_login_schema.ts";
import type { AdminUser } from "../../src/gateway/admin_login/admin_login_types.ts";
import { callerOf } from "./admin_caller.ts";
import type { PeerHandler } from "../http/router.ts";

/** Changes that are kept; new ones replace the oldest. */
const MAX_ENTRIES = 256;
const MAX_TEXT = 256;

/** A change that somebody made, or tried to make, through the admin interface. */
export interface AuditEntry {
  /** ISO 8601. */
  readonly at: string;
  /** IP address of the client, or `unix:<path>`. */
  readonly address: string;
  /** Proof of the client: `token`, `login` of a user, `none` where no token is required, or `gateway` for the web UI on a gateway, whose policies decide. */
  readonly access: AuditAccess;
  /** User who is logged in. */
  readonly user?: AdminUser;
  readonly role?: AdminRole;
  /** Request, such as `POST /logging?level=debug`. */
  readonly action: string;
  /** Status of the response. */
  readonly status: number;
  /** `done`, `rejected` or `failed`, or what the endpoint says about it. */
  readonly outcome: string;
}

/** See `AuditEntry`. */
export type AuditAccess = "token" | "login" | "none" | "gateway";

/** Posts that change nothing: of the page as its user types, comparisons and trials. */
const readingPosts: ReadonlySet<string> = new Set([
  "/try",
  "/ui/api/try",
  "/ui/api/source/check",
  "/ui/api/source/compare",
  "/ui/api/source/history/compare",
  "/ui/api/playground/evaluate",
  "/ui/api/playground/send",
]);

/** Profiles slow the gateway down, though a GET takes them. */
const profiles = /^\/(?:debug\/pprof|ui\/api\/profiles)\//;

const outcomes = new WeakMap<Response, string>();

/** Returns the response with what the audit log says about it, in place of a word for its status. */
export function withOutcome(response: Response, outcome: string): Response {
  outcomes.set(response, outcome);
  return response;
}

/** Records administrative changes: each leaves a line in the log and an entry here. */
export class AuditLog {
  readonly #clock: Pick<Clock, "now">;
  readonly #log: Log;
  readonly #entries: AuditEntry[] = [];
  #count = 0;

  constructor(clock: Pick<Clock, "now">, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns the last changes, newest first, and how many older ones are no longer kept. */
  read(): {
    readonly changes: readonly AuditEntry[];
    readonly omitted: number;
  } {
    return {
      changes: this.#entries.toReversed(),
      omitted: this.#count - this.#entries.length,
    };
  }

  /** Records the changes that requests to `next` make. @param access Of requests whose caller is not known. */
  record(access: AuditAccess, next: PeerHandler): PeerHandler {
    return async (request, peer) => {
      if (!isChange(request)) return await next(request, peer);
      const { pathname, search } = new URL(request.url);
      const what = {
        address: peer,
        ...describeCaller(request, access),
        action: short(`${request.method} ${pathname}${search}`),
      };
      // Afterwards, the log may be off.
      if (pathname.endsWith("/logging")) {
        this.#log.info("Administrative change begins", what);
      }
      const response = await next(request, peer);
      const { status } = response;
      const outcome = short(outcomes.get(response) ?? outcomeOf(status));
      this.#add({ ...what, status, outcome });
      this.#log.info("Administrative change", { ...what, status, outcome });
      return response;
    };
  }

  #add(entry: Omit<AuditEntry, "at">): void {
    this.#count++;
    if (this.#entries.length >= MAX_ENTRIES) this.#entries.shift();
    const at = new Date(this.#clock.now()).toISOString();
    this.#entries.push({ at, ...entry });
  }
}

/** Says who a caller is: issuer and subject of a user, since names may change. */
function describeCaller(request: Request, fallback: AuditAccess) {
  const caller = callerOf(request);
  if (caller?.user === undefined) return { access: caller?.access ?? fallback };
  const { access, role, user } = caller;
  return { access, ...role !== undefined && { role }, user };
}

function isChange({ method, url }: Request): boolean {
  const { pathname } = new URL(url);
  if (["GET", "HEAD", "OPTIONS"].includes(method)) {
    return method === "GET" && profiles.test(pathname);
  }
  return !readingPosts.has(pathname);
}

function outcomeOf(status: number): string {
  if (status < 400) return "done";
  return status < 500 ? "rejected" : "failed";
}

function short(text: string): string {
  return escapeControls(text).slice(0, MAX_TEXT);
}
