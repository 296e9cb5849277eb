import { respond } from "../admin_responses.ts";
import { createRouter, type Endpoint, type Handler } from "../router.ts";
import { pageFiles } from "./page_files.ts";
import { uiApi, type UiOptions } from "./ui_api.ts";

/** What the page may do on a gateway. */
export type UiAccess = "read-only" | "read-write";

/** The page may load nothing but its own files, and ask nobody but its own server. */
const pageHeaders = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

/** The web UI: a page below `/ui/`, and below `/ui/api/` what it asks for. Everything else is 404. */
export function createUi(options: UiOptions): Handler {
  return createRouter([...pageEndpoints, ...uiApi(options)], options.log);
}

/** The web UI as gateways serve it, by what the page may do. */
export function createGatewayUi(
  options: Pick<UiOptions, "target" | "clock" | "log">,
): (request: Request, access: UiAccess) => Promise<Response> {
  const { target, clock, log } = options;
  const create = (readOnly: boolean) =>
    createUi({ target, clock, log, server: "gateway", readOnly });
  const uis = { "read-only": create(true), "read-write": create(false) };
  return async (request, access) => await uis[access](request);
}

/** Whether the path is of a file of the page: the same for everybody, so it may be served without the admin token. */
export function isPageFile(path: string): boolean {
  return pageEndpoints.some((endpoint) => endpoint.path === path);
}

const pageEndpoints: readonly Endpoint[] = [
  {
    path: "/ui",
    // Relative, for a proxy in front may serve it elsewhere.
    methods: {
      GET: () => respond(308, "text/plain", "", { location: "ui/" }),
    },
  },
  ...[...pageFiles].map(([name, { contentType, text }]) => ({
    path: `/ui/${name}`,
    methods: { GET: () => respond(200, contentType, text, pageHeaders) },
  })),
];
