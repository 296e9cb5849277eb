import { createHash } from "node:crypto";
import {
  startTracedGateway,
  type TracedGateway,
} from "../gateway/traced_gateway.ts";

/** Users of the web UI of `startUiGateway`. */
export const uiUser = { username: "ada", password: "correct horse" };

/** The header that `uiUser` sends. */
export const UI_AUTHORIZATION = `Basic ${
  btoa(`${uiUser.username}:${uiUser.password}`)
}`;

/** `basicAuthentication` that lets `uiUser` in. */
export const uiPolicies = {
  basicAuthentication: {
    users: [`${uiUser.username}:{SHA}${sha1(uiUser.password)}`],
  },
};

/** A gateway that serves the web UI itself, behind `uiPolicies` unless `ui` says otherwise. */
export function startUiGateway(
  ui: Readonly<Record<string, unknown>> = {},
  config: Readonly<Record<string, unknown>> = {},
): Promise<TracedGateway> {
  return startTracedGateway({
    ui: { gateways: ["default"], policies: uiPolicies, ...ui },
    routes: [{
      name: "hello",
      matches: [{ path: { type: "PathPrefix", value: "/hello" } }],
      policies: {
        directResponse: { status: 200, body: "hello" },
        rateLimit: { local: [{ requests: 5, unit: "Hours" }] },
      },
    }],
    ...config,
  });
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("base64");
}
