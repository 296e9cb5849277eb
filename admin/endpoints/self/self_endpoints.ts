import type { JsonObject } from "../../../src/base/json.ts";
import type { Clock } from "../../../src/base/clock.ts";
import type { KeyOwner } from "../../../src/dataplane/keyring/key_owner.ts";
import type {
  OwnBudget,
  OwnKeysAnswer,
  OwnKeysCommand,
} from "../../../src/dataplane/keyring/own_keys.ts";
import { pageHeaders } from "../../../src/gateway/admin_login/admin_pages.ts";
import { withOutcome } from "../../access/audit_log.ts";
import { budgetsOf } from "../views/budget_view.ts";
import { showSums } from "../views/usage_sums.ts";
import { json, text } from "../../http/admin_responses.ts";
import { both, get, post } from "../../http/declare_endpoint.ts";
import { InvalidParameter, lastSegment } from "../../http/query_parameters.ts";
import { readForm, readTypedJson } from "../../http/request_body.ts";
import type { Endpoint } from "../../http/router.ts";
import {
  endOwnGrant,
  listOwnGrants,
  selfGrantEndpoints,
} from "./self_grants.ts";
import { ownerOf, requireRevocation } from "./self_owner.ts";
import type { AdminTarget } from "../../target/target.ts";
import {
  type PageNotice,
  renderOwnKeys,
  type SelfReport,
} from "./self_page.ts";

const MAX_BODY_BYTES = 64 * 1024;
const DAY_MS = 86_400_000;

const statuses = {
  rejected: 400,
  denied: 403,
  missing: 404,
  "no store": 409,
  unavailable: 503,
} as const;

/** Dependencies of the endpoints. */
interface SelfOptions {
  readonly target: AdminTarget;
  readonly clock: Pick<Clock, "now">;
}

/** Lists the endpoints with which users see and change what is their own. */
export function selfEndpoints(options: SelfOptions): readonly Endpoint[] {
  const others = {
    400: "Invalid body",
    403: "The team does not allow it",
    409: "config.kv is not set",
    503: "The store cannot be reached",
  };
  return [
    both(
      get("/self", (request) => showPage(options, request), {
        summary: "Page on which users see and change their own keys",
        ok: "The page",
        type: "text/html",
      }),
      post("/self", (request) => handleForm(options, request), {
        summary: "Handles a form of the page",
        ok: "The page",
        type: "text/html",
        others,
      }),
    ),
    both(
      get("/self/keys", (request) => showSelf(options, request), {
        summary:
          "Own keys, what the team allows, budgets and usage of the user who is logged in",
        ok: "All of it",
        others,
      }),
      post("/self/keys", (request) => createOwn(options, request), {
        summary:
          "Makes an own key: the body may have name, models, lifetime and budgets",
        ok: "The key as an object, and its secret, which nobody can read again",
        others,
      }),
    ),
    ...selfGrantEndpoints(options.target),
    post("/self/keys/*", (request) => revokeOwn(options, request), {
      summary: 'Revokes an own key: the body is {"action": "revoke"}',
      ok: "The key",
      others: { ...others, 404: "The user has no such key" },
    }),
  ];
}

async function showSelf(
  options: SelfOptions,
  request: Request,
): Promise<Response> {
  const report = await readReport(options, ownerOf(request));
  return "problem" in report ? problemOf(report) : json(report);
}

async function createOwn(
  { target }: SelfOptions,
  request: Request,
): Promise<Response> {
  const owner = ownerOf(request);
  const fields = await readTypedJson(request, MAX_BODY_BYTES);
  return await change(target, { do: "create", owner, fields });
}

async function revokeOwn(
  { target }: SelfOptions,
  request: Request,
): Promise<Response> {
  await requireRevocation(request);
  const id = lastSegment(request.url) ?? "";
  return await change(target, { do: "revoke", owner: ownerOf(request), id });
}

async function change(
  { dataPlane }: AdminTarget,
  command: OwnKeysCommand,
): Promise<Response> {
  const answer = await dataPlane.call("ownKeys", command);
  if ("problem" in answer) return problemOf(answer);
  if (answer.result === "found") return json(answer);
  const { result: _, ...body } = answer;
  return withOutcome(json(body), outcomeOf(command, answer));
}

async function showPage(
  options: SelfOptions,
  request: Request,
  notice?: PageNotice,
): Promise<Response> {
  const owner = ownerOf(request);
  const report = await readReport(options, owner);
  if ("problem" in report) return problemOf(report);
  const status = notice?.status ?? 200;
  const html = renderOwnKeys(owner, report, notice);
  return new Response(html, { status, headers: pageHeaders });
}

async function handleForm(
  options: SelfOptions,
  request: Request,
): Promise<Response> {
  const owner = ownerOf(request);
  const form = await readForm(request, MAX_BODY_BYTES);
  const grant = form.get("logout");
  if (grant !== null) return await handleLogout(options, request, grant);
  const id = form.get("revoke");
  const command: OwnKeysCommand = id === null
    ? { do: "create", owner, fields: fieldsOf(form) }
    : { do: "revoke", owner, id };
  const answer = await options.target.dataPlane.call("ownKeys", command);
  if ("problem" in answer) {
    const status = statuses[answer.result];
    return await showPage(options, request, { status, text: answer.problem });
  }
  if (answer.result === "found") return await showPage(options, request);
  const { secret } = answer;
  const page = await showPage(options, request, {
    status: 200,
    text: secret === undefined ? "The key is revoked." : "Copy the key now:",
    secret,
  });
  return withOutcome(page, outcomeOf(command, answer));
}

async function handleLogout(
  options: SelfOptions,
  request: Request,
  id: string,
): Promise<Response> {
  const { status, text, outcome } = await endOwnGrant(
    options.target,
    ownerOf(request),
    id,
  );
  const page = await showPage(options, request, { status, text });
  return outcome === undefined ? page : withOutcome(page, outcome);
}

/** Reads the form of a new key; what is empty is not set. */
function fieldsOf(form: URLSearchParams): JsonObject {
  const name = form.get("name") ?? "";
  const days = form.get("days") ?? "";
  const models = (form.get("models") ?? "").split(",")
    .map((each) => each.trim()).filter((each) => each !== "");
  if (days !== "" && !/^[1-9][0-9]{0,2}$/.test(days)) {
    throw new InvalidParameter("invalid days: expected a number up to 999");
  }
  return {
    ...name !== "" && { name },
    ...days !== "" && { lifetime: `${24 * Number(days)}h` },
    ...models.length > 0 && { models },
  };
}

/** Reads keys, budgets and usage of a user, and of nobody else. */
async function readReport(
  { target, clock }: SelfOptions,
  owner: KeyOwner,
): Promise<SelfReport | Extract<OwnKeysAnswer, { readonly problem: string }>> {
  const { dataPlane, settings } = target;
  const found = await dataPlane.call("ownKeys", { do: "list", owner });
  if ("problem" in found) return found;
  if (found.result !== "found") throw new TypeError("unexpected result");
  const grants = await listOwnGrants(target, owner);
  if ("problem" in grants) return grants;
  const { user, team, keys } = found;
  const now = clock.now();
  const date = new Date(now);
  const month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  const usageSince = async (from: number) => {
    const query = {
      by: ["model", "tool", "key"],
      from,
      until: Infinity,
      user,
    } as const;
    return showSums(await dataPlane.call("usage", query), query.by);
  };
  const owners = new Set([
    `user ${user}`,
    `team ${team.id}`,
    ...keys.map(({ id }) => `key ${id}`),
  ]);
  const state = await dataPlane.call("describeState");
  const budgets = budgetsOf(state.budgets, owners, now);
  const isUsed = ({ owner, amount }: OwnBudget) =>
    budgets.some((each) =>
      each.owner === owner && each.entry.startsWith(amount)
    );
  return {
    user,
    team,
    keys,
    ...grants,
    budgets,
    unusedBudgets: found.budgets.filter((each) => !isUsed(each)),
    usage: {
      today: await usageSince(now - now % DAY_MS),
      month: await usageSince(month),
    },
    connections: settings.connections?.url,
  };
}

function problemOf(
  { result, problem }: Extract<OwnKeysAnswer, { readonly problem: string }>,
): Response {
  return text(statuses[result], problem);
}

function outcomeOf(
  command: OwnKeysCommand,
  { object }: Extract<OwnKeysAnswer, { readonly result: "changed" }>,
): string {
  return `${command.do} key ${object.id}: done`;
}
