import assert from "node:assert/strict";
import { createUrlRewrite } from "../../../../src/policy/http/url_rewrite.ts";
import { context } from "../exchange.ts";

// The table of Gateway API, HTTPPathModifier.replacePrefixMatch; a prefix is given as routing knows it, without trailing slash.
const table = [
  ["/foo/bar", "/foo", "/xyz", "/xyz/bar"],
  ["/foo/bar", "/foo", "/xyz/", "/xyz/bar"],
  ["/foo", "/foo", "/xyz", "/xyz"],
  ["/foo/", "/foo", "/xyz", "/xyz/"],
  ["/foo/bar", "/foo", "", "/bar"],
  ["/foo/", "/foo", "", "/"],
  ["/foo", "/foo", "", "/"],
  ["/foo/", "/foo", "/", "/"],
  ["/foo", "/foo", "/", "/"],
  ["/foo/bar?a=/foo", "/foo", "/xyz", "/xyz/bar?a=/foo"],
  ["/foo?a", "/foo", "", "/?a"],
  ["/bar", "", "/xyz", "/xyz/bar"],
  ["/", "", "/xyz", "/xyz/"],
] as const;
for (const [target, matchedPrefix, replacePrefixMatch, expected] of table) {
  Deno.test(`URL rewrite of ${target} makes ${expected} when ${matchedPrefix || "/"} becomes "${replacePrefixMatch}"`, async () => {
    const on = context({ target, matchedPrefix });
    const path = { type: "ReplacePrefixMatch" as const, replacePrefixMatch };
    await createUrlRewrite({ path }).onRequest?.(on);
    assert.equal(on.request.target, expected);
  });
}

const full = [
  ["/foo/bar", "/xyz", "/xyz"],
  ["/foo/bar?a=1", "/xyz", "/xyz?a=1"],
  ["/foo", "", "/"],
] as const;
for (const [target, replaceFullPath, expected] of full) {
  Deno.test(`URL rewrite of ${target} makes ${expected} of the full path`, async () => {
    const on = context({ target });
    const path = { type: "ReplaceFullPath" as const, replaceFullPath };
    await createUrlRewrite({ path }).onRequest?.(on);
    assert.equal(on.request.target, expected);
  });
}

Deno.test("URL rewrite replaces the host and leaves the path", async () => {
  const on = context({ authority: "gw.example:3000", target: "/a?b" });
  await createUrlRewrite({ hostname: "llm.example" }).onRequest?.(on);
  assert.equal(on.request.authority, "llm.example");
  assert.equal(on.request.target, "/a?b");
});

Deno.test("URL rewrite does not replace a prefix that was not matched", () => {
  const path = {
    type: "ReplacePrefixMatch" as const,
    replacePrefixMatch: "/x",
  };
  assert.throws(
    () => createUrlRewrite({ path }).onRequest?.(context({ target: "/a" })),
    { code: "invalid_policy" },
  );
});
