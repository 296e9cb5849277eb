import type { UrlRewrite } from "../../api/resources/http_filter.ts";
import { modifyPath } from "./path_modifier.ts";
import type { Policy } from "../policy.ts";

/** Changes host and path before the request goes upstream; Gateway API, `HTTPURLRewriteFilter`. */
export function createUrlRewrite({ hostname, path }: UrlRewrite): Policy {
  return {
    kind: "urlRewrite",
    onRequest({ request, matchedPrefix }) {
      if (hostname !== undefined) request.authority = hostname;
      if (path !== undefined) {
        request.target = modifyPath(path, request.target, matchedPrefix);
      }
    },
  };
}
