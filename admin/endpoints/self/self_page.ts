import type { KeyOwner } from "../../../src/dataplane/keyring/key_owner.ts";
import type {
  OwnBudget,
  OwnTeam,
} from "../../../src/dataplane/keyring/own_keys.ts";
import type { KeyObjectView } from "../../../src/dataplane/keyring/keyring_views.ts";
import {
  escapeHtml,
  renderPage,
  renderRow,
} from "../../../src/gateway/admin_login/admin_pages.ts";
import type { BudgetView } from "../views/budget_view.ts";
import type { GrantView } from "../views/grant_view.ts";
import type { ShownSum } from "../views/usage_sums.ts";

/** The page of a user. */
export interface SelfReport {
  /** ID in the store, in usage and in budgets. */
  readonly user: string;
  readonly team: OwnTeam;
  readonly keys: readonly KeyObjectView[];
  /** MCP clients that the user has logged in, the newest first. */
  readonly grants: readonly GrantView[];
  /** Budgets of the user, of the keys and of the team, of which something is used. */
  readonly budgets: readonly BudgetView[];
  /** The others: those of which nothing is used. */
  readonly unusedBudgets: readonly OwnBudget[];
  /** By model, tool and key; days and months are those of UTC. */
  readonly usage: {
    readonly today: readonly ShownSum[];
    readonly month: readonly ShownSum[];
  };
  /** Page with the connections of users. */
  readonly connections: string | undefined;
}

/** Outcome of a form. */
export interface PageNotice {
  readonly status: number;
  readonly text: string;
  /** A new key. */
  readonly secret?: string | undefined;
}

/** Renders the page on which users see and change their own keys. */
export function renderOwnKeys(
  { name }: KeyOwner,
  { team, keys, grants, budgets, unusedBudgets, usage, connections }:
    SelfReport,
  notice?: PageNotice,
): string {
  return renderPage(
    "Your access",
    `<h1>Your access</h1>
${notice === undefined ? "" : renderNotice(notice)}
${renderNavigation(connections)}
<dl id="models">
${renderRow("User", name)}
${renderRow("Team", team.id)}
${renderRow("Models", team.models?.join(", ") ?? "all of the routes")}
</dl>
<h1 id="keys">Keys</h1>
${
      keys.length === 0
        ? "<p>You have no keys.</p>"
        : `<ul>\n${keys.map(renderKey).join("\n")}\n</ul>`
    }
${renderNewKey(team)}
<h1 id="logins">Your logins</h1>
<p class="hint">Clients that you have logged in at MCP servers. One that you log out has to ask you again.</p>
${
      grants.length === 0
        ? "<p>No client is logged in.</p>"
        : `<ul>\n${grants.map(renderGrant).join("\n")}\n</ul>`
    }
<h1 id="budgets">Budgets</h1>
${
      renderList([
        ...budgets.map(describeBudget),
        ...unusedBudgets.map(({ owner, amount }) =>
          `${owner}: ${amount}: nothing is used`
        ),
      ], "There is no budget.")
    }
<h1 id="usage">Usage today</h1>
${renderUsage(usage.today)}
<h1>Usage of this month</h1>
${renderUsage(usage.month)}
<form method="post" action="/ui/login/logout"><button>Log out</button></form>`,
  );
}

/** Links the parts of the page, and the page of connections if there is one. */
function renderNavigation(connections: string | undefined): string {
  const links = [
    ["#keys", "Keys"],
    ["#models", "Models"],
    ["#logins", "Logins"],
    ["#budgets", "Budgets"],
    ["#usage", "Usage"],
    ...connections === undefined ? [] : [[connections, "Connections"] as const],
  ] as const;
  const items = links.map(([href, text]) =>
    `<a href="${escapeHtml(href)}">${text}</a>`
  );
  return `<nav>${items.join(" · ")}</nav>`;
}

function renderNotice({ text, secret }: PageNotice): string {
  const key = secret === undefined
    ? ""
    : ` <code>${escapeHtml(secret)}</code> Nobody can read it again.`;
  return `<p role="status">${escapeHtml(text)}${key}</p>`;
}

function renderKey(
  { id, name, status, createdAt, expiresAt, keys = [] }: KeyObjectView,
): string {
  const rows = [
    ["Key", keys.map(({ prefix }) => `${prefix}…`).join(", ")],
    ["Status", status],
    ["Made", createdAt],
    ["Expires", expiresAt ?? "never"],
  ] as const;
  return `<li><strong>${escapeHtml(name ?? id)}</strong>
<dl>${rows.map(([term, text]) => renderRow(term, text)).join("")}</dl>
<form method="post"><button name="revoke" value="${
    escapeHtml(id)
  }">Revoke</button></form></li>`;
}

function renderGrant(
  { id, client, resource, scopes, startedAt, usedAt }: GrantView,
): string {
  const rows = [
    ["MCP server", resource],
    ["Rights", scopes.join(", ")],
    ["Since", startedAt],
    ["Last token", usedAt],
  ] as const;
  return `<li><strong>${escapeHtml(client)}</strong>
<dl>${
    rows.filter(([, text]) => text !== "")
      .map(([term, text]) => renderRow(term, text)).join("")
  }</dl>
<form method="post"><button name="logout" value="${
    escapeHtml(id)
  }">Log out client</button></form></li>`;
}

function renderNewKey({ selfService }: OwnTeam): string {
  if (selfService === undefined) {
    return "<p>Your team does not let its users make keys.</p>";
  }
  const { maxKeys, maxLifetime } = selfService;
  return `<p class="hint">Your team allows ${maxKeys} keys, each for at most ${
    escapeHtml(maxLifetime)
  }.</p>
<form method="post">
<input name="name" maxlength="128" placeholder="Name" aria-label="Name" required>
<input name="days" inputmode="numeric" size="4" placeholder="Days" aria-label="Days">
<button>Make a key</button>
</form>`;
}

function describeBudget(
  { owner, entry, remaining, limit, unit, resetsAt }: BudgetView,
): string {
  const left = `${remaining ?? "unknown"} of ${limit} ${unit} left`;
  const until = resetsAt === undefined ? "" : `, starts anew at ${resetsAt}`;
  return `${owner}: ${entry}: ${left}${until}`;
}

function renderUsage(sums: readonly ShownSum[]): string {
  const lines = sums.map((
    { name, requests, inputTokens, outputTokens, costUsd },
  ) =>
    `${name}: ${requests} requests, ${
      inputTokens + outputTokens
    } tokens, ${costUsd} USD`
  );
  return renderList(lines, "None.");
}

function renderList(lines: readonly string[], none: string): string {
  return lines.length === 0
    ? `<p>${none}</p>`
    : `<ul>${
      lines.map((each) => `<li>${escapeHtml(each)}</li>`).join("")
    }</ul>`;
}
