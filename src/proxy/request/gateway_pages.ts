import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import type { ConnectionSite } from "../../identity/connections/connection_site.ts";
import { removePageCookies } from "../../identity/connections/page_session.ts";
import { clientOrigin } from "../../policy/login/endpoints/client_origin.ts";
import { pathOf } from "../../route/normalize_target.ts";
import type { TrustsPeer } from "./forwarding_headers.ts";

/** Pages of the gateway itself at an address that no route can have: those of connections. */
export class GatewayPages {
  readonly #site: ConnectionSite;
  readonly #trustsPeer: TrustsPeer;

  constructor(site: ConnectionSite, trustsPeer: TrustsPeer) {
    this.#site = site;
    this.#trustsPeer = trustsPeer;
  }

  /** Responds to a request for a page; returns `undefined` for others, from which it removes the cookies of the pages. */
  async serve(request: RequestMessage): Promise<ResponseMessage | undefined> {
    if (!this.#isFor(request)) {
      removePageCookies(request.headers);
      return undefined;
    }
    const { response } = await this.#site.serve(request);
    return response;
  }

  #isFor(request: RequestMessage): boolean {
    if (!this.#site.has(pathOf(request.target))) return false;
    const origin = clientOrigin(request, this.#trustsPeer(request.source));
    return URL.parse(origin)?.host === this.#site.host;
  }
}
