import { listenersSchema } from "./gateway_resource.ts";
import { GATEWAY_API_GROUP, gatewayApiVersion } from "../schema/group.ts";
import { resource } from "./resource.ts";
import { namespace, referenceName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

/** A `ListenerSet` of the Gateway API: listeners that others than the owner of a gateway add to it. */
export const listenerSetSchema = resource(
  gatewayApiVersion,
  "ListenerSet",
  s.object({
    parentRef: s.field(
      "Gateway whose addresses the listeners listen on; its `allowedListeners` must allow them.",
      s.object({
        group: s.field(
          "API group of the kind.",
          s.withDefault(s.literal(GATEWAY_API_GROUP), GATEWAY_API_GROUP),
        ),
        kind: s.field(
          "Kind of the resource.",
          s.withDefault(s.literal("Gateway"), "Gateway"),
        ),
        namespace: s.field(
          "Namespace of the gateway. Default: that of the listener set.",
          s.optional(namespace),
        ),
        name: s.field("Name of the gateway.", referenceName),
      }),
    ),
    listeners: s.field(
      "Ports and hosts to serve.",
      s.refine(
        listenersSchema,
        s.rule(
          (listeners) =>
            listeners.every(({ address }) => address === undefined),
          'a "ListenerSet" listens on the addresses of its gateway; remove "address"',
          (listeners) => [
            listeners.findIndex(({ address }) => address !== undefined),
            "address",
          ],
        ),
      ),
    ),
  }),
);

/** Listeners that are added to a gateway. */
export type ListenerSet = s.Infer<typeof listenerSetSchema>;
