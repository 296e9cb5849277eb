import type { RequestRedirect } from "../../api/resources/http_filter.ts";
import { HeaderList } from "../../http/header_list.ts";
import { modifyPath } from "./path_modifier.ts";
import type { Policy } from "../policy.ts";

/**
 * Answers with a redirect; what the configuration leaves out is as in the request. Gateway API, `HTTPRequestRedirectFilter`.
 *
 * The port is the configured one, else that of a configured scheme, else that of the listener, and is left out of
 * `Location` when the scheme implies it.
 *
 * @param listenerPort Port of the listener that accepted the request.
 */
export function createRequestRedirect(
  config: RequestRedirect,
  listenerPort: number,
): Policy {
  const impliedPort = config.scheme && wellKnownPorts[config.scheme];
  const port = config.port ?? impliedPort ?? listenerPort;
  return {
    kind: "requestRedirect",
    onRequest({ request, matchedPrefix }) {
      const scheme = config.scheme ?? request.scheme;
      const host = config.hostname ?? withoutPort(request.authority);
      const target = config.path === undefined
        ? request.target
        : modifyPath(config.path, request.target, matchedPrefix);
      const isImplied = scheme === "https" ? port === 443 : port === 80;
      const location = `${scheme}://${host}${
        isImplied ? "" : `:${port}`
      }${target}`;
      return {
        status: config.statusCode,
        headers: new HeaderList(["location", location]),
        body: undefined,
      };
    },
  };
}

const wellKnownPorts = { http: 80, https: 443 } as const;

function withoutPort(authority: string): string {
  return authority.replace(/:[0-9]*$/, "");
}
