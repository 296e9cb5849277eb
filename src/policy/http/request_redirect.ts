import {
  type RequestRedirect,
  requestRedirectSchema,
} from "../../api/rules/http_filter.ts";
import { HeaderList } from "../../http/header_list.ts";
import { modifyPath } from "./path_modifier.ts";
import type { Policy } from "../contract/policy.ts";

import { definePolicy, noProblems } from "../contract/define_policy.ts";

/** A redirect without a backend. */
export const requestRedirect = definePolicy("requestRedirect", {
  description: "Responds with a redirect, without a backend.",
  schema: requestRedirectSchema,
  phases: ["route"],
  merge: "replace",
  access: "open",
  rejections: {},
  respondsAlways: true,
}, {
  check: noProblems,
  create: (config, { listenerPort }) =>
    createRequestRedirect(config, listenerPort),
});

/**
 * Responds with a redirect (Gateway API, `HTTPRequestRedirectFilter`). Parts that are not configured are those of the request.
 *
 * The port is the configured one, else that of a configured scheme, else that of the listener. `Location` omits it when it is the
 * default of the scheme.
 *
 * @param listenerPort Port of the listener that accepted the request.
 */
export function createRequestRedirect(
  config: RequestRedirect,
  listenerPort: number,
): Policy<never> {
  const impliedPort = config.scheme && wellKnownPorts[config.scheme];
  const port = config.port ?? impliedPort ?? listenerPort;
  return {
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
