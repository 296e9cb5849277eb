import type { BudgetNotice } from "../../policy/keys/notice_board.ts";
import type { LockedTool, ToolLock } from "../../mcp/servers/tool_approval.ts";
import type { PinPlace } from "../../mcp/approval/tool_pins.ts";
import type { RecordMemory } from "../keyring/record_table.ts";
import type {
  CachedDocument,
  DocumentPlace,
} from "../../identity/documents/document_cache.ts";
import type {
  CheckRules,
  CheckTurn,
} from "../../proxy/balancing/health/health_records.ts";
import type {
  GrantId,
  GrantRecord,
} from "../../identity/oauth/grants/grant_record.ts";
import type { TokenUse } from "../../identity/oauth/grants/grant_store.ts";
import type { KvEntry, Replacement } from "../../kv/kv_handle.ts";
import type { Use } from "../../ratelimit/budget/budget.ts";
import type {
  DescriptorUse,
  GlobalLimit,
  HeldUse,
  LimiterDecision,
} from "../../ratelimit/limiter/global_limiter.ts";
import type { LimiterPlace } from "../../ratelimit/global_limiters.ts";
import type {
  LimitGrant,
  LimitRequest,
} from "../../ratelimit/shared/limit_registry.ts";

/** Calls of a worker to the control thread, for state that the policies of all workers share. */
export interface StateCalls extends DocumentCalls {
  /** Returns the memory of local limits, until they are released. */
  acquireLimits(requests: readonly LimitRequest[]): LimitGrant;
  releaseLimit(request: LimitRequest): void;
  /** Uses a limiter over Deno KV until the lease is released. */
  useLimiter(
    lease: number,
    place: LimiterPlace,
    limits: readonly GlobalLimit[],
  ): void;
  releaseLimiters(lease: number): void;
  /** Opens the stores of all limiters in use. */
  openLimiters(): void;
  /** @param place See `limiterKey`; so for `debit` and `refund`, which are those of `GlobalLimiter`. */
  admit(
    place: string,
    uses: readonly DescriptorUse[],
    expected?: Use,
  ): LimiterDecision;
  debit(
    place: string,
    uses: readonly DescriptorUse[],
    use: Use,
    held?: HeldUse,
  ): void;
  refund(place: string, uses: readonly DescriptorUse[], held: HeldUse): void;
  /** See `Keyring.memory`. */
  keyringMemory(): RecordMemory;
  notifyOfBudget(notice: BudgetNotice): void;
  /** Those of `ToolPins`. */
  readPins(place: PinPlace): ToolLock | undefined;
  pinTools(
    place: PinPlace,
    tools: ReadonlyMap<string, LockedTool>,
    newTools: boolean,
  ): ToolLock;
  /** Those of `StoredResponses`. */
  keepResponse(name: string, record: string): void;
  findResponse(name: string): string | undefined;
  /** The following are those of `LoginState` and `GrantStore`. */
  loginSecret(): string;
  warnOfLoginLoss(): void;
  spendCode(code: string, untilMs: number): boolean;
  releaseCode(code: string): void;
  addGrant(grant: GrantRecord, untilMs: number): void;
  touchGrant(grant: GrantId, usedAt: number, untilMs: number): void;
  listGrants(): readonly GrantRecord[];
  endGrant(grant: GrantId, untilMs: number): void;
  isGrantEnded(grant: string): boolean;
  useToken(grant: string, number: number, untilMs: number): TokenUse;
  releaseToken(grant: string, number: number, untilMs: number): void;
  /** See `ProofStore.spend`. */
  spendProof(key: string, id: string, untilMs: number): boolean;
  /** Those of `LoginState.records`. */
  readLoginRecord(key: Deno.KvKey): KvEntry;
  replaceLoginRecord(
    key: Deno.KvKey,
    version: string | null,
    next: Replacement,
  ): boolean;
  /** Those of `RegistrationTurns`. */
  beginRegistration(provider: string): boolean;
  endRegistration(provider: string): void;
  /** Those of `HealthTurns`. */
  takeCheck(id: string, rules: CheckRules): CheckTurn;
  reportCheck(id: string, rules: CheckRules, failure: string | null): CheckTurn;
}

/** Calls of a worker for documents of identity providers. */
export interface DocumentCalls {
  /** Uses a document until its release. @param id Identifies this use. */
  useDocument(id: number, place: DocumentPlace): void;
  releaseDocument(id: number): void;
  /** The following are those of `RemoteDocument`. */
  latestDocument(id: number): CachedDocument | undefined;
  freshDocument(id: number, newerThan: number | undefined): DocumentReply;
}

/** A document, or why it is not available and the seconds until the next attempt. */
export type DocumentReply =
  | { readonly document: CachedDocument }
  | { readonly failure: string; readonly retryAfter: number };
