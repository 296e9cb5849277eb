import assert from "node:assert/strict";
import { includesRole, roleFor } from "../../../../admin/http/roles.ts";

Deno.test("requests need the role of their endpoint, and unknown ones that of admins", () => {
  const roles = [
    "GET /config_dump",
    "HEAD /config_dump",
    "GET /requests/abc",
    "POST /access/keys/key_1",
    "POST /ui/api/access/change/team/blue",
    "DELETE /config_dump",
    "POST /config_dump",
    "GET /access/keys/a/b",
    "GET /new",
    "GET /self/keys",
    "POST /self/keys/key_1",
    "POST /self/keys/key_1/other",
  ].map((action) => {
    const [method = "", path = ""] = action.split(" ");
    return roleFor({ method, url: `http://localhost${path}?a=1` });
  });

  assert.deepEqual(roles, [
    "viewer",
    "viewer",
    "viewer",
    "operator",
    "operator",
    "admin",
    "admin",
    "admin",
    "admin",
    "team",
    "team",
    "admin",
  ]);
});

Deno.test("a role includes the rights of those below it", () => {
  assert.deepEqual(
    ([undefined, "viewer", "operator", "admin"] as const).map((own) =>
      (["anyone", "viewer", "operator", "admin"] as const)
        .filter((needed) => includesRole(own, needed))
    ),
    [
      ["anyone"],
      ["anyone", "viewer"],
      ["anyone", "viewer", "operator"],
      ["anyone", "viewer", "operator", "admin"],
    ],
  );
});
