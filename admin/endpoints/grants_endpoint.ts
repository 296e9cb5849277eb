import { withOutcome } from "../access/audit_log.ts";
import { json, storeUnavailable, text } from "../http/admin_responses.ts";
import { get, post } from "../http/declare_endpoint.ts";
import { integer, text as textParameter } from "../http/operation_text.ts";
import {
  InvalidParameter,
  readInteger,
  requireKnown,
} from "../http/query_parameters.ts";
import { readTypedJson, textMember } from "../http/request_body.ts";
import type { Endpoint } from "../http/router.ts";
import { viewOfGrant } from "./views/grant_view.ts";
import type { AdminTarget } from "../target/target.ts";

/** Maximum number of grants in a list. */
const grantLimit = { from: 1, to: 1000, or: 100 };
/** Longest body of a request. */
const MAX_BODY_BYTES = 8192;
const fields = ["id", "issuer", "subject", "client", "resource"] as const;

/** Lists the endpoints about MCP clients that users have logged in. */
export function grantEndpoints(target: AdminTarget): readonly Endpoint[] {
  return [
    get("/grants", (request) => listGrants(target, request), {
      summary:
        "Lists the MCP clients that users have logged in, without tokens",
      parameters: [
        textParameter("issuer", "Only those of users of this issuer"),
        textParameter("subject", "Only those of users with this subject"),
        textParameter("client", "Only those of clients with this name"),
        textParameter("resource", "Only those for this MCP server"),
        integer("limit", "Maximum number; the newest", grantLimit),
      ],
      ok: "The grants, the oldest first",
      others: { 503: "The store cannot be reached" },
    }),
    post("/grants/revoke", (request) => revokeGrants(target, request), {
      summary:
        'Ends grants: the body selects them, such as {"subject"} or {"id"}',
      ok: "Number of grants that have ended",
      others: {
        400: "Invalid body",
        404: "No such grant",
        503: "The store cannot be reached",
      },
    }),
  ];
}

/** Lists grants: `GET /grants?subject=anna`. @throws {InvalidParameter} */
export async function listGrants(
  { dataPlane }: AdminTarget,
  { url }: Request,
): Promise<Response> {
  const query = new URL(url).searchParams;
  requireKnown(
    query,
    ["issuer", "subject", "client", "resource", "limit"],
    "usage: GET /grants?subject=<sub>",
  );
  const limit = readInteger(query, "limit", grantLimit);
  const selection = selectionOf((name) => query.get(name) ?? undefined);
  try {
    const grants = await dataPlane.call("grants", selection);
    return json({
      grants: grants.slice(-limit).map(viewOfGrant),
      hasMore: grants.length > limit,
    });
  } catch (error) {
    return storeUnavailable(error);
  }
}

/** Ends grants: `{"subject": "anna"}`. @throws {InvalidParameter} */
export async function revokeGrants(
  { dataPlane }: AdminTarget,
  request: Request,
): Promise<Response> {
  const body = await readTypedJson(request, MAX_BODY_BYTES);
  const names: readonly string[] = fields;
  const given = Object.keys(body);
  if (given.length === 0 || given.some((name) => !names.includes(name))) {
    throw new InvalidParameter(
      `invalid body: expected one or more of ${fields.join(", ")}`,
    );
  }
  const selection = selectionOf((name) =>
    Object.hasOwn(body, name) ? textMember(body, name) : undefined
  );
  try {
    const ended = await dataPlane.call("endGrants", selection);
    if (ended.length === 0) return text(404, "no grant is like that");
    return withOutcome(
      json({ revoked: ended.length }),
      `revoked ${ended.length} grants: ${
        given.map((name) => `${name}=${textMember(body, name)}`).join(" ")
      }`,
    );
  } catch (error) {
    return storeUnavailable(error);
  }
}

function selectionOf(
  read: (name: typeof fields[number]) => string | undefined,
) {
  return {
    id: read("id"),
    issuer: read("issuer"),
    subject: read("subject"),
    client: read("client"),
    resource: read("resource"),
  };
}
