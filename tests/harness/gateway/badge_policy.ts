import { headerName } from "../../../src/api/schema/scalars.ts";
import * as s from "../../../src/api/schema/schema.ts";
import { rejectWith } from "../../../src/policy/authentication/auth_responses.ts";
import { credentialPlace } from "../../../src/policy/authentication/credential.ts";
import { definePolicy } from "../../../src/policy/contract/define_policy.ts";
import { defineIdentity } from "../../../src/policy/contract/identity.ts";
import { Rejection } from "../../../src/policy/contract/rejection.ts";
import { errorOf } from "../../../src/telemetry/failures/explanation.ts";

/** Identity of a caller with the badge: `{ owner: "anna" }`. */
export const badgeOwner = defineIdentity("badge", "owner");

/** A kind of policy that the gateway does not have: callers show a badge in a header. */
export const badge = definePolicy("badge", {
  description: "Authenticates callers by the number on their badge.",
  schema: s.object({
    badges: s.field(
      "Badges that are valid.",
      s.list(
        s.object({
          number: s.field("Number on the badge.", s.secret()),
          owner: s.field("Name of its owner.", s.text(64)),
        }),
        { min: 1 },
      ),
    ),
    header: s.field(
      "Header with the number.",
      s.withDefault(headerName, "x-badge"),
    ),
  }),
  phases: ["route", "gateway"],
  merge: "replace",
  access: {
    identity: badgeOwner,
    isRequired: () => true,
    credentials: ({ header }) => [{ header: { name: header } }],
  },
  trace: {
    event: "badge",
    stage: "badge check",
    selection: "badge",
  },
  rejections: {
    badge_check: {
      explain: (failed) => ({
        cause: `The badge is not valid: ${errorOf(failed)}.`,
        failing: undefined,
        advice: "Send the number of a badge that `badge` lists.",
      }),
    },
  },
}, {
  check: ({ badges }) => {
    const numbers = badges.map(({ number }) => number);
    return numbers.flatMap((number, index) =>
      numbers.indexOf(number) < index
        ? [{ path: ["badges", index], message: "The badge is listed twice" }]
        : []
    );
  },
  create: ({ badges, header }) => {
    const place = credentialPlace({ header: { name: header } });
    const owners = new Map(badges.map((each) => [each.number, each.owner]));
    return {
      onRequest({ request, slots, trace }) {
        const owner = owners.get(place.read(request) ?? "");
        if (owner !== undefined) {
          slots.set(badgeOwner, { owner });
          trace?.apply({ owner });
          return;
        }
        const description = "no valid badge";
        const response = rejectWith("unauthorized", description);
        return new Rejection("badge_check", description, response);
      },
    };
  },
});
