import { createHash } from "node:crypto";

/** Contents of the consent page. */
export interface Consent {
  /** Name that the client gives itself. */
  readonly clientName: string | undefined;
  /** Client ID if it is a URL, which proves that the client controls the host. */
  readonly clientUrl: string | undefined;
  readonly redirectUri: string;
  /** URL of the MCP server. */
  readonly resource: string;
  /** Scopes that the client requests. */
  readonly scopes: readonly string[];
  /** ID of the login, sent back with the form. */
  readonly login: string;
  /** URL that the form is posted to. */
  readonly action: string;
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 32rem; margin: 10vh auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; line-height: 1.3; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .4rem 1rem; }
dt { opacity: .7; } dd { margin: 0; overflow-wrap: anywhere; }
p.hint { opacity: .8; }
ul { list-style: none; padding: 0; } li { border-top: 1px solid #8885; padding: .75rem 0; } li form { margin-top: .5rem; }
form { display: flex; gap: .75rem; margin-top: 1.5rem; }
button { font: inherit; padding: .5rem 1.25rem; border-radius: .4rem; border: 1px solid; cursor: pointer; }
button[value=allow] { background: #1757c2; border-color: #1757c2; color: #fff; }
`;

/** Hash of the style sheet, for the content security policy; pages have no scripts, images or frames. */
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/**
 * Headers of every page. The policy has no `form-action`, which browsers also apply to the redirects after the form: those lead
 * to the provider and to the client.
 */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy":
    `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; frame-ancestors 'none'; base-uri 'none'`,
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  // With "no-referrer", browsers post the form with "Origin: null".
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

/** Asks the user whether a client may log in on their behalf. */
export function renderConsentPage(consent: Consent): string {
  const { clientName, clientUrl, redirectUri, resource, scopes } = consent;
  const named = clientName === undefined
    ? "An application without a name"
    : `“${escapeHtml(clientName)}”`;
  return renderPage(
    "Allow access?",
    `<h1>${named} wants to use ${escapeHtml(resource)} as you</h1>
<dl>
${clientUrl === undefined ? "" : renderRow("Application", clientUrl)}
${renderRow("Sends you back to", destinationOf(redirectUri))}
${scopes.length === 0 ? "" : renderRow("Permissions", scopes.join(", "))}
</dl>
<p class="hint">The application chose its name itself. Continue only if you started this login and trust where it sends you back to.</p>
<form method="post" action="${escapeHtml(consent.action)}">
<input type="hidden" name="login" value="${escapeHtml(consent.login)}">
<button name="answer" value="allow">Continue to login</button>
<button name="answer" value="deny">Cancel</button>
</form>`,
  );
}

/**
 * Shows the user why the login failed; for requests whose redirect URI cannot be trusted.
 * @param location Redirect to the client, which the user may follow.
 */
export function renderErrorPage(
  description: string,
  location?: string,
): string {
  return renderPage(
    "Login failed",
    `<h1>This login cannot continue</h1>
<p>${escapeHtml(description)}.</p>
${
      location === undefined
        ? ""
        : `<p><a rel="noreferrer" href="${
          escapeHtml(location)
        }">Tell the application at ${
          escapeHtml(destinationOf(location))
        }</a></p>`
    }
<p class="hint">Go back to your application and start again. If this happens again, show this page to whoever runs the server.</p>`,
  );
}

/** Renders a page. @param title Text. @param body HTML. */
export function renderPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

/** Renders an entry of a list of definitions. @param term HTML. @param description Text. */
export function renderRow(term: string, description: string): string {
  return `<dt>${term}</dt><dd>${escapeHtml(description)}</dd>`;
}

/** Describes the recipient of the code: a host, or a program on the user's computer. */
function destinationOf(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri);
  if (protocol === "https:") return host;
  return protocol === "http:"
    ? `a program on this computer (${hostname})`
    : `the program that opens ${protocol} links on this computer`;
}

/** Escapes a text for HTML and its attributes. */
export function escapeHtml(text: string): string {
  return text.replace(
    /[&<>"']/g,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}
