import type { RequestMessage } from "../../../http/message.ts";
import type {
  AuthorizationServices,
  ServerUrls,
} from "./authorization_services.ts";
import { CODE_MS, sealCode } from "../grants/authorization_code.ts";
import {
  expectSecureOrigin,
  readAuthorizationRequest,
  readForwardedParameters,
} from "./authorization_request.ts";
import { isDocumentUrl } from "../clients/client_documents.ts";
import { renderConsentPage } from "../protocol/login_pages.ts";
import {
  type Consent,
  consentTo,
  type Cookies,
  endLogin,
  hasConsent,
  LOGIN_MS,
  type LoginSession,
  readLogin,
  readLoginCookies,
  rememberConsent,
  writeLogin,
} from "./login_session.ts";
import {
  chooseRedirectUri,
  fingerprintOf,
  type OAuthClient,
} from "../clients/oauth_client.ts";
import { OAuthError } from "../protocol/oauth_error.ts";
import {
  type OAuthParameters,
  readOAuthParameters,
  requiredParameter,
} from "../protocol/oauth_parameters.ts";
import {
  type OAuthReply,
  pageErrorReply,
  pageReply,
  redirectReply,
  withResponseParameters,
} from "../protocol/oauth_reply.ts";
import {
  expectSuccess,
  locationOf,
  redirectingErrors,
} from "./login_errors.ts";
import { opensProgram, withoutLoopbackPort } from "../clients/redirect_uri.ts";
import { randomText } from "../protocol/seal.ts";

/** Longest name of a client in the list of grants. */
const MAX_NAME_LENGTH = 200;

/** The endpoints that a browser visits during a login: `authorize`, `consent` and `callback`. */
export class LoginEndpoints {
  readonly #services: AuthorizationServices;

  constructor(services: AuthorizationServices) {
    this.#services = services;
  }

  /** Validates the client's request, then shows the consent page or redirects to the provider. */
  async authorize(
    request: RequestMessage,
    urls: ServerUrls,
  ): Promise<OAuthReply> {
    const { findClient } = this.#services;
    const parameters = readOAuthParameters(queryOf(request.target));
    expectSecureOrigin(urls);
    const client = await findClient(
      requiredParameter(parameters, "client_id"),
      request.cancellation,
    );
    const redirectUri = chooseRedirectUri(
      client,
      parameters.get("redirect_uri"),
    );
    const start = () =>
      this.#start(parameters, { request, client, redirectUri, urls });
    this.#services.rules.expectRedirectUris([redirectUri]);
    const state = parameters.get("state");
    const destination = { redirectUri, state, issuer: urls.issuer };
    const isKnown = this.#isKnown(client, redirectUri, { request, urls });
    // The redirect URI is the client's, so errors go there (RFC 6749 section 4.1.2.1).
    if (isKnown) return await redirectingErrors(destination, start);
    // An attacker may have registered the client and made the link: without a click, it leads nowhere else (RFC 9700 section 4.11.2).
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return pageErrorReply(error, locationOf(error, destination));
    }
  }

  /** Reports whether the browser may be sent to a client without a click: to a server on the user's computer, or where the user agreed before. */
  #isKnown(
    client: OAuthClient,
    redirectUri: string,
    { request, urls: { issuer } }: {
      readonly request: RequestMessage;
      readonly urls: ServerUrls;
    },
  ): boolean {
    if (opensProgram(redirectUri)) return false;
    if (withoutLoopbackPort(redirectUri) !== undefined) return true;
    const { clock, seal } = this.#services;
    const cookies = readLoginCookies(request.headers);
    const options = { seal, cookies, issuer, nowMs: clock.now() };
    const consent = consentTo(fingerprintOf(client.id), redirectUri, undefined);
    return hasConsent(consent, options);
  }

  async #start(
    parameters: OAuthParameters,
    { request, client, redirectUri, urls }: {
      readonly request: RequestMessage;
      readonly client: OAuthClient;
      readonly redirectUri: string;
      readonly urls: ServerUrls;
    },
  ): Promise<OAuthReply> {
    const { clock, seal } = this.#services;
    const session: LoginSession = {
      ...readAuthorizationRequest(parameters, urls),
      client: fingerprintOf(client.id),
      clientName: (isDocumentUrl(client.id) ? client.id : client.name)
        ?.slice(0, MAX_NAME_LENGTH),
      signs: client.keys !== undefined,
      redirectUri,
      verifier: randomText(),
      approved: false,
      expiresAt: clock.now() + LOGIN_MS,
    };
    const id = randomText();
    const cookies = readLoginCookies(request.headers);
    const isKnown = hasConsent(consentOf(session), {
      seal,
      cookies,
      issuer: urls.issuer,
      nowMs: clock.now(),
    });
    const forwarded = readForwardedParameters(parameters);
    return isKnown
      ? await this.#redirectToProvider(id, session, {
        urls,
        cookies,
        forwarded,
      })
      : this.#requestConsent(id, session, { client, urls, cookies });
  }

  /** Handles the form of the consent page. */
  async consent(
    request: RequestMessage,
    urls: ServerUrls,
    form: OAuthParameters,
  ): Promise<OAuthReply> {
    // `SameSite=Lax` keeps the login cookie out of cross-site posts; browsers that send `Origin` are checked twice.
    const origin = request.headers.get("origin");
    if (origin !== undefined && origin !== urls.origin) {
      throw new OAuthError(
        "invalid_request",
        "the form was posted by another site",
      );
    }
    const { clock, seal } = this.#services;
    const cookies = readLoginCookies(request.headers);
    const id = requiredParameter(form, "login");
    const session = this.#find(id, cookies, urls);
    const options = { seal, cookies, issuer: urls.issuer, nowMs: clock.now() };
    return await redirectingErrors(session, async () => {
      if (form.get("answer") !== "allow") {
        throw new OAuthError("access_denied", "the user did not agree");
      }
      return await this.#redirectToProvider(id, session, {
        urls,
        cookies,
        forwarded: {},
        more: [rememberConsent(consentOf(session), options)],
      });
    }, [endLogin(id)]);
  }

  /** Handles the provider's redirect: sends the client back with a code of the gateway. */
  async callback(
    request: RequestMessage,
    urls: ServerUrls,
  ): Promise<OAuthReply> {
    const parameters = readOAuthParameters(queryOf(request.target));
    const cookies = readLoginCookies(request.headers);
    const id = requiredParameter(parameters, "state");
    const session = this.#find(id, cookies, urls);
    if (!session.approved) {
      throw new OAuthError("invalid_request", "the user has not agreed yet");
    }
    const { provider, seal, clock } = this.#services;
    return await redirectingErrors(session, async () => {
      await provider.expectIssuer(parameters);
      expectSuccess(parameters);
      const code = sealCode(seal, {
        id: crypto.randomUUID().replaceAll("-", ""),
        client: session.client,
        clientName: session.clientName,
        signs: session.signs,
        redirectUri: session.redirectUri,
        challenge: session.challenge,
        scope: session.scope,
        issuer: session.issuer,
        providerCode: requiredParameter(parameters, "code"),
        verifier: session.verifier,
        expiresAt: clock.now() + CODE_MS,
      });
      const location = withResponseParameters(session.redirectUri, {
        code,
        state: session.state,
        iss: session.issuer,
      });
      return redirectReply(location, [endLogin(id)]);
    }, [endLogin(id)]);
  }

  #requestConsent(
    id: string,
    session: LoginSession,
    { client, urls, cookies }: {
      readonly client: OAuthClient;
      readonly urls: ServerUrls;
      readonly cookies: Cookies;
    },
  ): OAuthReply {
    const html = renderConsentPage({
      clientName: client.name,
      clientUrl: isDocumentUrl(client.id) ? client.id : undefined,
      redirectUri: session.redirectUri,
      resource: urls.issuer,
      scopes: session.scope?.split(" ") ?? [],
      login: id,
      action: `${urls.base}/consent`,
    });
    return pageReply(html, this.#remember(id, session, cookies));
  }

  async #redirectToProvider(
    id: string,
    session: LoginSession,
    { urls, cookies, forwarded, more = [] }: {
      readonly urls: ServerUrls;
      readonly cookies: Cookies;
      readonly forwarded: Readonly<Record<string, string>>;
      readonly more?: readonly string[];
    },
  ): Promise<OAuthReply> {
    const { verifier, scope } = session;
    const location = await this.#services.provider.loginUrl({
      state: id,
      verifier,
      callback: `${urls.base}/callback`,
      scope,
      forwarded,
    });
    const approved = { ...session, approved: true };
    return redirectReply(location, [
      ...this.#remember(id, approved, cookies),
      ...more,
    ]);
  }

  #remember(id: string, session: LoginSession, cookies: Cookies): string[] {
    const { seal } = this.#services;
    const written = writeLogin(id, session, { seal, cookies });
    if (written !== undefined) return written;
    throw new OAuthError("invalid_request", "the request is too long");
  }

  #find(id: string, cookies: Cookies, { issuer }: ServerUrls): LoginSession {
    const { seal, clock } = this.#services;
    const session = readLogin(id, { seal, cookies, nowMs: clock.now() });
    if (session?.issuer === issuer) return session;
    throw new OAuthError(
      "invalid_request",
      "this login was not started in this browser, or more than ten minutes ago",
    );
  }
}

function consentOf({ client, redirectUri, scope }: LoginSession): Consent {
  const portless = withoutLoopbackPort(redirectUri) ?? redirectUri;
  return consentTo(client, portless, scope);
}

function queryOf(target: string): string {
  const at = target.indexOf("?");
  return at < 0 ? "" : target.slice(at + 1);
}
