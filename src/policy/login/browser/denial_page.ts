import { textBody } from "../../../http/body.ts";
import { HeaderList } from "../../../http/header_list.ts";
import type { RequestMessage, ResponseMessage } from "../../../http/message.ts";
import {
  escapeHtml,
  pageHeaders,
  renderPage,
} from "../../../identity/oauth/protocol/login_pages.ts";
import { rejectWith } from "../../authentication/auth_responses.ts";
import type { Claims } from "../../contract/identity.ts";

/** Reports whether the user of a browser opens a page; a request with a token is of a program. */
export function isNavigation(
  { method, headers, upgrade }: RequestMessage,
): boolean {
  if (
    method !== "GET" || upgrade !== undefined || headers.has("authorization")
  ) return false;
  const mode = headers.get("sec-fetch-mode");
  if (mode !== undefined) return mode === "navigate";
  return (headers.getJoined("accept") ?? "").includes("text/html") &&
    !headers.has("x-requested-with");
}

/** Reports whether a page suits the user better than JSON: of a navigation that accepts HTML at least as gladly (RFC 9110 section 12.5.1). */
export function prefersPage(request: RequestMessage): boolean {
  if (!isNavigation(request)) return false;
  const accept = request.headers.getJoined("accept")?.toLowerCase() ?? "";
  const html = weightOf(accept, "text/html");
  return html > 0 && html >= weightOf(accept, "application/json");
}

/** Returns the weight of a media type that `Accept` names; 0 for others. */
function weightOf(accept: string, type: string): number {
  const range = accept.split(",").map((each) => each.split(";"))
    .find(([name = ""]) => name.trim() === type);
  if (range === undefined) return 0;
  const weight = range.find((each) => each.trim().startsWith("q="));
  return weight === undefined ? 1 : Number(weight.trim().slice(2)) || 0;
}

/** Claims that name a user, the one for people first. */
const names = ["email", "preferred_username", "name", "sub"];
const MAX_NAME = 128;

/** Creates the 403 of a rule as a page. @param logout Path at which the user can choose another account. */
export function denyWithPage(claims: Claims, logout: string): ResponseMessage {
  const user = names.map((name) => claims[name])
    .find((value): value is string => typeof value === "string") ?? "";
  const html = renderPage(
    "Access denied",
    `<h1>You may not open this page</h1>
<p>You are logged in as <strong>${
      escapeHtml(user.slice(0, MAX_NAME))
    }</strong>, and the rules of this site do not allow it.</p>
<p class="hint">If you need access, ask whoever runs the site: <code>x-request-id</code> of this response leads to the rule.</p>
<form method="post" action="${
      escapeHtml(logout)
    }"><button>Use another account</button></form>`,
  );
  return {
    ...rejectWith("forbidden", "the request is not allowed"),
    headers: HeaderList.from(Object.entries(pageHeaders)),
    body: textBody(html),
  };
}
