import type { IncomingMessage, ServerResponse } from "node:http";
// @ts-types="./oidc_provider.d.ts"
import type { Provider } from "oidc-provider";

/**
 * Handles the login: `GET` returns a page on which a user logs in and allows the client in one click, `POST` redirects to the
 * client.
 */
export async function handleLogin(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { params, grantId } = await provider.interactionDetails(
    request,
    response,
  );
  const clientId = String(params.client_id);
  if (request.method !== "POST") {
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.setHeader("cache-control", "no-store");
    const name = typeof params.login_hint === "string"
      ? params.login_hint
      : "ada";
    response.end(renderPage(provider.issuer, clientId, name));
    return;
  }
  const form = new URLSearchParams(await readText(request));
  if (form.get("answer") !== "allow") {
    await provider.interactionFinished(request, response, {
      error: "access_denied",
      error_description: "The user denied access",
    });
    return;
  }
  const accountId = form.get("account") || "ada";
  const known = grantId === undefined
    ? undefined
    : await provider.Grant.find(grantId);
  // Another user may have logged in before in this browser.
  const grant = known?.accountId === accountId
    ? known
    : new provider.Grant({ accountId, clientId });
  const scope = String(params.scope ?? "");
  grant.addOIDCScope(scope);
  if (typeof params.resource === "string") {
    grant.addResourceScope(params.resource, scope);
  }
  await provider.interactionFinished(request, response, {
    login: { accountId },
    consent: { grantId: await grant.save() },
  });
}

async function readText(request: IncomingMessage): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of request) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function renderPage(issuer: string, clientId: string, name: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Log in</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 10vh auto; padding: 0 1rem; }
  input, button { font: inherit; padding: .4rem .8rem; margin: .3rem 0; }
  code { overflow-wrap: anywhere; }
</style>
<h1>Log in</h1>
<p>The client <code>${escapeHtml(clientId)}</code> requests access to <code>${
    escapeHtml(issuer)
  }</code>. Any name works: this server is for testing.</p>
<form method="post">
  <p><label>Name <input name="account" value="${
    escapeHtml(name)
  }" autocomplete="off"></label></p>
  <button name="answer" value="allow">Log in and allow</button>
  <button name="answer" value="deny">Deny</button>
</form>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
