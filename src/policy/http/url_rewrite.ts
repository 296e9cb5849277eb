import {
  type UrlRewrite,
  urlRewriteSchema,
} from "../../api/rules/http_filter.ts";
import { modifyPath } from "./path_modifier.ts";
import type { Policy } from "../contract/policy.ts";

import { definePolicy, noProblems } from "../contract/define_policy.ts";

/** Changes host and path of requests. */
export const urlRewrite = definePolicy("urlRewrite", {
  description: "Changes host and path of requests.",
  schema: urlRewriteSchema,
  phases: ["route"],
  merge: "replace",
  access: "open",
  rejections: {},
}, {
  check: noProblems,
  create: createUrlRewrite,
});

/** Changes host and path before the request goes upstream (Gateway API, `HTTPURLRewriteFilter`). */
export function createUrlRewrite(
  { hostname, path }: UrlRewrite,
): Policy<never> {
  return {
    onRequest({ request, matchedPrefix }) {
      if (hostname !== undefined) request.authority = hostname;
      if (path !== undefined) {
        request.target = modifyPath(path, request.target, matchedPrefix);
      }
    },
  };
}
