import { isDuration, parseDuration } from "../../src/api/schema/duration.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { JsonObject } from "../../src/base/json.ts";
import type {
  KeyringAnswer,
  KeyringCommand,
} from "../../src/dataplane/keyring/keyring_commands.ts";
import {
  type KeyObjectKind,
  keyObjectKinds,
  keyStatuses,
} from "../../src/dataplane/keyring/keyring_views.ts";
import { both, get, post } from "../http/declare_endpoint.ts";
import {
  choice,
  integer,
  text as textParameter,
} from "../http/operation_text.ts";
import type { Endpoint } from "../http/router.ts";
import { withOutcome } from "../access/audit_log.ts";
import { json, text } from "../http/admin_responses.ts";
import {
  InvalidParameter,
  lastSegment,
  readChoice,
  readInteger,
  requireKnown,
} from "../http/query_parameters.ts";
import { readTypedJson } from "../http/request_body.ts";
import type { AdminTarget } from "../target/target.ts";
import { budgetsOf } from "./views/budget_view.ts";

/** Maximum number of objects in a list. */
const accessLimit = { from: 1, to: 1000, or: 100 };

/** Actions on an object. */
const accessActions = [
  "update",
  "rotate",
  "suspend",
  "resume",
  "revoke",
] as const;

/** Longest body of a request. */
const MAX_BODY_BYTES = 64 * 1024;

/** Lists the endpoints for keys, users and teams in the store. */
export function accessEndpoints(target: AdminTarget): readonly Endpoint[] {
  return keyObjectKinds.flatMap((kind) => endpointsOf(target, kind));
}

function endpointsOf(
  target: AdminTarget,
  kind: KeyObjectKind,
): readonly Endpoint[] {
  const path = `/access/${kind}s` as const;
  const others = {
    400: "Invalid body",
    ...storeProblems,
  };
  return [
    both(
      get(path, (request) => listAccess(target, kind, request), {
        summary: `Lists the ${kind}s in the store`,
        parameters: [
          textParameter("team", "Only those of this team"),
          textParameter("user", "Only those of this user"),
          choice("status", "Only those with this status", keyStatuses),
          textParameter(
            "text",
            "Only those whose ID, name, team, user or beginning of a key contains it",
          ),
          textParameter("after", "Only those with an ID after this one"),
          integer("limit", "Maximum number", accessLimit),
        ],
        ok: `The ${kind}s by their IDs`,
        others: storeProblems,
      }),
      post(path, (request) => createAccess(target, kind, request), {
        summary: `Creates a ${kind}: its fields are the body, as JSON`,
        ok: kind === "key"
          ? "The key as an object, and its secret, which nobody can read again"
          : `The ${kind}`,
        others,
      }),
    ),
    both(
      get(
        `${path}/*` as const,
        (request) => showAccess(target, kind, request),
        {
          summary: `Shows a ${kind}`,
          ok: `The ${kind}`,
          others: { 404: `No such ${kind}`, ...storeProblems },
        },
      ),
      post(
        `${path}/*` as const,
        (request) => changeAccess(target, kind, request),
        {
          summary: `Changes a ${kind}: the body has "action" (update, ${
            kind === "key" ? "rotate, " : ""
          }suspend, resume or revoke), and the fields to update`,
          ok: `The ${kind}`,
          others: { ...others, 404: `No such ${kind}` },
        },
      ),
    ),
  ];
}

/** Lists the objects of a kind by their IDs: `GET /access/keys?team=blue`. @throws {InvalidParameter} */
export async function listAccess(
  target: AdminTarget,
  kind: KeyObjectKind,
  request: Request,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  const names = ["team", "user", "status", "text", "after", "limit"];
  requireKnown(query, names, `usage: GET /access/${kind}s?team=<id>`);
  const selection = {
    team: query.get("team") ?? undefined,
    user: query.get("user") ?? undefined,
    status: readChoice(query, "status", keyStatuses),
    text: query.get("text") ?? undefined,
    after: query.get("after") ?? undefined,
    limit: readInteger(query, "limit", accessLimit),
  };
  return await run(target, { kind, do: "list", selection });
}

/** Shows one object, with what is left of its budgets, and when they start anew. */
async function showAccess(
  target: AdminTarget,
  kind: KeyObjectKind,
  { url }: Request,
): Promise<Response> {
  const id = lastSegment(url) ?? "";
  const response = await run(target, { kind, do: "show", id });
  if (!response.ok) return response;
  const { budgets } = await target.dataPlane.call("describeState");
  const owners = new Set([`${kind} ${id}`]);
  const left = budgetsOf(budgets, owners, systemClock.now());
  return json({ ...await response.json(), left });
}

/** Creates an object; the response has the new key, which nobody can read again. @throws {InvalidParameter} */
export async function createAccess(
  target: AdminTarget,
  kind: KeyObjectKind,
  request: Request,
): Promise<Response> {
  const fields = await readTypedJson(request, MAX_BODY_BYTES);
  return await run(target, { kind, do: "create", fields });
}

/** Changes an object: `{"action": "rotate", "overlap": "24h"}`. @throws {InvalidParameter} */
export async function changeAccess(
  target: AdminTarget,
  kind: KeyObjectKind,
  request: Request,
): Promise<Response> {
  const id = lastSegment(request.url) ?? "";
  const body = await readTypedJson(request, MAX_BODY_BYTES);
  return await run(target, readAction(kind, id, body));
}

function readAction(
  kind: KeyObjectKind,
  id: string,
  { action, overlap = "0s", ...fields }: JsonObject,
): KeyringCommand {
  const known = accessActions.find((each) => each === action);
  if (known === "update") return { kind, do: known, id, fields };
  const [unknown] = Object.keys(fields);
  if (unknown !== undefined) {
    throw new InvalidParameter(
      `invalid body: unexpected ${JSON.stringify(unknown.slice(0, 64))}`,
    );
  }
  if (known === undefined || known === "rotate" && kind !== "key") {
    throw new InvalidParameter(
      `invalid body: expected "action": ${
        accessActions.filter((each) => kind === "key" || each !== "rotate")
          .join(", ")
      }`,
    );
  }
  if (known !== "rotate") return { kind, do: known, id };
  return { kind, do: known, id, overlapMs: readOverlap(overlap) };
}

/** Reads a duration such as `24h`. */
function readOverlap(overlap: unknown): number {
  if (typeof overlap === "string" && isDuration(overlap)) {
    return parseDuration(overlap);
  }
  throw new InvalidParameter(
    "invalid overlap: expected a duration such as 24h",
  );
}

const storeProblems = {
  409: "config.kv is not set",
  503: "The store cannot be reached",
};

const statuses = {
  rejected: 400,
  missing: 404,
  "no store": 409,
  unavailable: 503,
} as const;

async function run(
  { dataPlane }: AdminTarget,
  command: KeyringCommand,
): Promise<Response> {
  const answer = await dataPlane.call("keyring", command);
  if ("problem" in answer) {
    return text(statuses[answer.result], answer.problem);
  }
  return withOutcome(json(bodyOf(answer)), outcomeOf(command, answer));
}

function bodyOf(answer: Exclude<KeyringAnswer, { readonly problem: string }>) {
  if (answer.result === "found") {
    const { objects, hasMore = false } = answer;
    return { objects, hasMore };
  }
  const { object, secret } = answer;
  return { object, ...secret !== undefined && { secret } };
}

function outcomeOf(
  { kind, do: action }: KeyringCommand,
  answer: KeyringAnswer,
): string {
  return answer.result === "changed"
    ? `${action} ${kind} ${answer.object.id}: done`
    : "done";
}
