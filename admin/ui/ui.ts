import type { AuditLog } from "../access/audit_log.ts";
import { respond, text } from "../http/admin_responses.ts";
import { createRouter, type Endpoint, type Handler } from "../http/router.ts";
import { pageFiles, pageHeaders } from "./page_files.ts";
import { uiApi, type UiOptions } from "./ui_api.ts";

/** Access of the web UI on a gateway. */
export type UiAccess = "read-only" | "read-write";

/** Serves the web UI: its page below `/ui/` and its API below `/ui/api/`; returns 404 for other paths. */
export function createUi(options: UiOptions): Handler {
  return createRouter([...pageEndpoints, ...uiApi(options)], options.log);
}

/** Creates the web UI for gateways. */
export function createGatewayUi(
  options: Pick<UiOptions, "target" | "clock" | "log"> & {
    readonly audit: AuditLog;
  },
): (request: Request, access: UiAccess) => Promise<Response> {
  const { target, clock, log, audit } = options;
  const create = (readOnly: boolean) =>
    audit.record(
      "gateway",
      createUi({ target, clock, log, server: "gateway", readOnly }),
    );
  const uis = { "read-only": create(true), "read-write": create(false) };
  return async (request, access) =>
    await uis[access](request, clientOf(request));
}

/** Returns the client as the gateway forwards it. */
function clientOf({ headers }: Request): string {
  return headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() ?? "";
}

// The page is also where authorization servers send the browser of the playground back to.
const filePath = /^\/ui\/(?:callback|([\w.-]+\.(?:css|js|json)))?$/;

/** Reports whether a path is that of a static file of the page, which needs no admin token. */
export function isPageFile(path: string): boolean {
  return path === "/ui" || filePath.test(path);
}

async function servePage({ url }: Request): Promise<Response> {
  const match = filePath.exec(new URL(url).pathname);
  const file = match === null
    ? undefined
    : (await pageFiles()).get(match[1] ?? "");
  return file === undefined
    ? text(404, "not found")
    : respond(200, file.contentType, file.text, pageHeaders());
}

const pageEndpoints: readonly Endpoint[] = [
  {
    path: "/ui",
    // Relative, as a reverse proxy may use another prefix.
    methods: {
      GET: () => respond(308, "text/plain", "", { location: "ui/" }),
    },
  },
  { path: "/ui/", methods: { GET: servePage } },
  { path: "/ui/*", methods: { GET: servePage } },
];
