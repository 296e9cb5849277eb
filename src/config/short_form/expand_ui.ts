import { POLICY_API_GROUP } from "../../api/resources/group.ts";
import { WEB_UI_KIND } from "../../api/web_ui.ts";
import { expandRoute, type GatewayName } from "./expand_route.ts";
import type { Placed, ShortItem } from "../placed.ts";
import type { ShortRoute, ShortUi } from "./short_form.ts";

/** Name of the route that `ui` expands to. */
export const UI_ROUTE_NAME = "ui";

/** Expands `ui` to an `HTTPRoute` with its inline policy. */
export function expandUi(
  { value: { access, ...choice }, path, document }: ShortItem<ShortUi>,
  gateways: readonly GatewayName[],
): readonly Placed[] {
  const route: ShortRoute = {
    ...choice,
    matches: [{ path: { type: "PathPrefix", value: "/ui" } }],
  };
  const webUi = {
    group: POLICY_API_GROUP,
    kind: WEB_UI_KIND,
    name: access === "ReadWrite" ? "read-write" : "read-only",
    weight: 1,
  };
  return expandRoute({ value: route, path, document }, UI_ROUTE_NAME, gateways)
    .map((item): Placed => {
      const { resource } = item;
      if (resource.kind !== "HTTPRoute") return item;
      const rules = resource.spec.rules.map((rule) => ({
        ...rule,
        backendRefs: [webUi],
      }));
      return {
        ...item,
        resource: { ...resource, spec: { ...resource.spec, rules } },
        origins: item.origins.map((origin) => ({
          ...origin,
          // The rule is generated, so its problems are reported for the section.
          ...(origin.at.at(-2) === "rules" && { whole: true }),
        })),
      };
    });
}
