import { describeError } from "../../../src/base/errors.ts";
import type { KeyOwner } from "../../../src/dataplane/keyring/key_owner.ts";
import { withOutcome } from "../../access/audit_log.ts";
import { json, text } from "../../http/admin_responses.ts";
import { get, post } from "../../http/declare_endpoint.ts";
import { lastSegment } from "../../http/query_parameters.ts";
import type { Endpoint } from "../../http/router.ts";
import type { AdminTarget } from "../../target/target.ts";
import { type GrantView, viewOfGrant } from "../views/grant_view.ts";
import { ownerOf, requireRevocation } from "./self_owner.ts";

const MAX_SHOWN = 100;

/** The store of the grants cannot be reached. */
interface GrantsProblem {
  readonly result: "unavailable";
  readonly problem: string;
}

/** Outcome of a logout. */
interface EndedGrant {
  readonly status: number;
  readonly text: string;
  /** Set for the audit log if a grant has ended. */
  readonly outcome?: string;
}

/** Lists the endpoints with which users see and end the logins of their MCP clients. */
export function selfGrantEndpoints(target: AdminTarget): readonly Endpoint[] {
  return [
    get("/self/grants", (request) => showGrants(target, request), {
      summary: "Lists the MCP clients that the user has logged in",
      ok: "The grants, the newest first",
      others: { 503: "The store cannot be reached" },
    }),
    post("/self/grants/*", (request) => revokeGrant(target, request), {
      summary:
        'Logs a client of the user out: the body is {"action": "revoke"}',
      ok: "The client is logged out",
      type: "text/plain",
      others: {
        400: "Invalid body",
        404: "The user has no such grant",
        503: "The store cannot be reached",
      },
    }),
  ];
}

/** Lists the newest grants of a user, and of nobody else. */
export async function listOwnGrants(
  { dataPlane }: AdminTarget,
  { issuer, subject }: KeyOwner,
): Promise<{ readonly grants: readonly GrantView[] } | GrantsProblem> {
  try {
    const own = await dataPlane.call("grants", { issuer, subject });
    return { grants: own.slice(-MAX_SHOWN).map(viewOfGrant).toReversed() };
  } catch (error) {
    return { result: "unavailable", problem: problemOf(error) };
  }
}

/** Ends a grant of a user; that of somebody else does not exist. */
export async function endOwnGrant(
  { dataPlane }: AdminTarget,
  { issuer, subject }: KeyOwner,
  id: string,
): Promise<EndedGrant> {
  try {
    const selection = { id, issuer, subject };
    const [ended] = await dataPlane.call("endGrants", selection);
    if (ended === undefined) {
      return { status: 404, text: "You have no such login." };
    }
    const outcome = `logged out ${ended.client} at ${ended.resource}: done`;
    return { status: 200, text: "The client is logged out.", outcome };
  } catch (error) {
    return { status: 503, text: problemOf(error) };
  }
}

async function showGrants(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  const found = await listOwnGrants(target, ownerOf(request));
  return "problem" in found ? text(503, found.problem) : json(found);
}

async function revokeGrant(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  await requireRevocation(request);
  const id = lastSegment(request.url) ?? "";
  const ended = await endOwnGrant(target, ownerOf(request), id);
  const response = text(ended.status, ended.text);
  return ended.outcome === undefined
    ? response
    : withOutcome(response, ended.outcome);
}

function problemOf(error: unknown): string {
  return `cannot use the store: ${describeError(error)}`;
}
