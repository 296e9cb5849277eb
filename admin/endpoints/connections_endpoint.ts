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
import type { AdminTarget } from "../target/target.ts";

/** Maximum number of connections in a list. */
const connectionLimit = { from: 1, to: 1000, or: 100 };

/** Longest body of a request. */
const MAX_BODY_BYTES = 1024;

const problems = {
  409: "config.connections is not set",
  503: "The store cannot be reached",
};

/** Lists the endpoints about the connections of users at services. */
export function connectionEndpoints(target: AdminTarget): readonly Endpoint[] {
  return [
    get("/connections", (request) => listConnections(target, request), {
      summary: "Lists the accounts that users have connected, without tokens",
      parameters: [
        textParameter("backend", "Only those of this backend"),
        textParameter("issuer", "Only those of users of this issuer"),
        textParameter("subject", "Only those of users with this subject"),
        textParameter("after", "Only those with an ID after this one"),
        integer("limit", "Maximum number", connectionLimit),
      ],
      ok: "The connections by their IDs",
      others: problems,
    }),
    post(
      "/connections/revoke",
      (request) => revokeConnection(target, request),
      {
        summary:
          'Ends a connection, here and at its authorization server: the body is {"id"}',
        ok: "Whether the authorization server has revoked the tokens",
        others: { 400: "Invalid body", 404: "No such connection", ...problems },
      },
    ),
  ];
}

/** Lists connections by their IDs: `GET /connections?backend=default/tools`. @throws {InvalidParameter} */
export async function listConnections(
  { dataPlane, settings }: AdminTarget,
  { url }: Request,
): Promise<Response> {
  const query = new URL(url).searchParams;
  const names = ["backend", "issuer", "subject", "after", "limit"];
  requireKnown(query, names, "usage: GET /connections?backend=<key>");
  const selection = {
    backend: query.get("backend") ?? undefined,
    issuer: query.get("issuer") ?? undefined,
    subject: query.get("subject") ?? undefined,
    after: query.get("after") ?? undefined,
    limit: readInteger(query, "limit", connectionLimit),
  };
  if (settings.connections === undefined) return notConfigured();
  try {
    return json(await dataPlane.call("userConnections", selection));
  } catch (error) {
    return storeUnavailable(error);
  }
}

/** Ends a connection: `{"id": "5d2c…"}`. @throws {InvalidParameter} */
export async function revokeConnection(
  { dataPlane, settings }: AdminTarget,
  request: Request,
): Promise<Response> {
  const body = await readTypedJson(request, MAX_BODY_BYTES);
  const id = textMember(body, "id");
  if (Object.keys(body).length > 1) {
    throw new InvalidParameter('invalid body: expected only "id"');
  }
  if (settings.connections === undefined) return notConfigured();
  try {
    const found = await dataPlane.call("findUserConnection", id);
    const ended = found &&
      await dataPlane.call("endUserConnection", found);
    if (found === undefined || ended === undefined) {
      return text(404, "no connection has this ID");
    }
    if ("digest" in found) {
      return withOutcome(
        json({ id, isConfirmed: false }),
        `revoked ${id}, which no key of the vault opens`,
      );
    }
    const { server: backend, issuer, subject } = found;
    return withOutcome(
      json({ id, backend, issuer, subject, isConfirmed: ended.isConfirmed }),
      `revoked ${backend} of ${subject} at ${issuer}: ${
        ended.isConfirmed ? "done" : "not at the authorization server"
      }`,
    );
  } catch (error) {
    return storeUnavailable(error);
  }
}

function notConfigured(): Response {
  return text(
    409,
    '"config.connections" is not set: users cannot connect accounts',
  );
}
