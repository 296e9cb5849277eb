import {
  escapeHtml,
  renderPage,
  renderRow,
} from "../oauth/protocol/login_pages.ts";
import type { PageUser } from "./gateway_login.ts";

/** A form of a page: where it is posted, and what proves that it is of this session. */
export interface PageForm {
  /** URL of the pages. */
  readonly base: string;
  readonly token: string;
}

/** A backend at which users can log in, and the connection of the user of the page. */
export interface ShownConnection {
  /** Path of the backend, which forms send. */
  readonly path: string;
  readonly title: string;
  readonly resource: string;
  readonly state:
    | { readonly kind: "none" | "expired" | "unknown" }
    | {
      readonly kind: "connected";
      readonly scopes: readonly string[];
      /** Milliseconds since the epoch. */
      readonly connectedAt: number;
      /** Authorization server. */
      readonly server: string;
    };
}

/** Explanations of states in which a service is not used. */
const problems = {
  none: "",
  expired: "<p>The connection has ended. Connect again.</p>",
  unknown: "<p>The connection cannot be read. Connect again.</p>",
} as const;

/** Outcomes of forms, which the address of the page has. */
const notices: ReadonlyMap<string | null, string> = new Map([
  ["connected", "Connected. You can go back to your application."],
  ["disconnected", "Disconnected."],
  [
    "disconnected-here",
    "Disconnected here, but the service did not confirm it: remove the access of the gateway there, too.",
  ],
]);

/** Lists the connections of a user. @param done Outcome of the form before. */
export function renderConnections(
  user: PageUser,
  connections: readonly ShownConnection[],
  { form, done }: { readonly form: PageForm; readonly done: string | null },
): string {
  const notice = notices.get(done);
  const items = connections.map((each) => renderConnection(each, form));
  return renderPage(
    "Connections",
    `<h1>Your connections</h1>
${notice === undefined ? "" : `<p role="status">${escapeHtml(notice)}</p>`}
<p>The gateway uses these services as you, for the applications that you use.</p>
${
      items.length === 0
        ? "<p>No service needs a connection.</p>"
        : `<ul>\n${items.join("\n")}\n</ul>`
    }
${renderUser(user, form)}`,
  );
}

/** Asks the user whether the gateway may use a service. @param scopes Rights that the service has asked for. */
export function renderConnect(
  user: PageUser,
  { path, title, resource }: Omit<ShownConnection, "state">,
  { form, scopes, request }: {
    readonly form: PageForm;
    readonly scopes: readonly string[];
    /** Of the link, which the form sends back. */
    readonly request: string;
  },
): string {
  return renderPage(
    `Connect ${escapeHtml(title)}`,
    `<h1>Connect ${escapeHtml(title)}?</h1>
<dl>
${renderRow("Service", resource)}
${renderRow("You are", user.name)}
${scopes.length === 0 ? "" : renderRow("Rights", scopes.join(", "))}
</dl>
<p class="hint">You log in at the service next. The gateway will use it with your account there, for the applications that you use. Continue only if you or your application asked for this.</p>
${
      renderForm(form, "start", [["backend", path], ["request", request]], [
        `<button name="answer" value="allow">Continue</button>`,
        `<button name="answer" value="deny">Cancel</button>`,
      ])
    }
${renderUser(user, form)}`,
  );
}

/** Says that a link is for somebody else. */
export function renderForeignLink(user: PageUser, form: PageForm): string {
  return renderPage(
    "Not your link",
    `<h1>This link is not for you</h1>
<p>Somebody else's application has made it. Do not go on if you got it from another person.</p>
${renderUser(user, form)}`,
  );
}

/** Lets users choose where they log in. */
export function renderIssuers(
  issuers: readonly string[],
  { base, returnTo }: { readonly base: string; readonly returnTo: string },
): string {
  const items = issuers.map((issuer) => {
    const query = new URLSearchParams({ issuer, return: returnTo });
    return `<li><a href="${escapeHtml(`${base}/login?${query}`)}">${
      escapeHtml(issuer)
    }</a></li>`;
  });
  return renderPage(
    "Log in",
    `<h1>Where do you log in?</h1>\n<ul>\n${items.join("\n")}\n</ul>`,
  );
}

function renderConnection(
  { path, title, resource, state }: ShownConnection,
  form: PageForm,
): string {
  const isConnected = state.kind === "connected";
  const facts = isConnected
    ? `<dl>
${renderRow("Account at", state.server)}
${renderRow("Since", new Date(state.connectedAt).toISOString().slice(0, 10))}
${state.scopes.length === 0 ? "" : renderRow("Rights", state.scopes.join(", "))}
</dl>`
    : problems[state.kind];
  const buttons = isConnected
    ? renderForm(form, "revoke", [["backend", path]], [
      "<button>Disconnect</button>",
    ])
    : renderForm(form, "start", [["backend", path]], [
      `<button name="answer" value="allow">Connect</button>`,
    ]);
  return `<li><strong>${escapeHtml(title)}</strong><br>${
    escapeHtml(resource)
  }\n${facts}\n${buttons}</li>`;
}

function renderUser(user: PageUser, form: PageForm): string {
  return `<p class="hint">Logged in as ${escapeHtml(user.name)} at ${
    escapeHtml(user.issuer)
  }.</p>
${renderForm(form, "logout", [], ["<button>Log out</button>"])}`;
}

function renderForm(
  { base, token }: PageForm,
  action: string,
  fields: readonly (readonly [name: string, value: string])[],
  buttons: readonly string[],
): string {
  const inputs = [["token", token], ...fields].map(([name = "", value = ""]) =>
    `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`
  );
  return `<form method="post" action="${escapeHtml(`${base}/${action}`)}">
${[...inputs, ...buttons].join("\n")}
</form>`;
}
