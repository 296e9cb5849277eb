import assert from "node:assert/strict";
import { HeaderList } from "../../../../src/http/header_list.ts";
import { removeLoginCookies } from "../../../../src/identity/oauth/endpoints/login_session.ts";

Deno.test("removeLoginCookies leaves the cookies of others", () => {
  for (
    const [before, after] of [
      [["a=1; __Host-mcp-consent=x; b=2"], ["a=1; b=2"]],
      [["__Host-mcp-login-abc=x", "a=1"], ["a=1"]],
      [["__Host-mcp-consent=x;__Host-mcp-login-y=z"], []],
      [["a=__Host-mcp-consent"], ["a=__Host-mcp-consent"]],
      [[], []],
    ] as const
  ) {
    const headers = HeaderList.from(
      before.map((value) => ["cookie", value] as const),
    );
    removeLoginCookies(headers);
    assert.deepEqual(headers.getAll("cookie"), after);
  }
});
