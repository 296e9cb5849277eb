import assert from "node:assert/strict";
import { normalizeTarget } from "../../../src/route/normalize_target.ts";
import { fc } from "../../harness/parsers/properties.ts";

const kept = [
  "/",
  "*",
  "/mcp",
  "/mcp/",
  "/a//b",
  "//a",
  "/models/meta%2Fllama",
  "/a%20b?c=%7E&d=/../x",
  "/.well-known/oauth-protected-resource/mcp",
  "/a/.hidden/..x/...",
  "/a;v=1/b",
  "/%252e%252e/x",
  "/caf%C3%A9",
  "/caf%E9",
  "/a?b=%zz&c=%",
];
for (const target of kept) {
  Deno.test(`normalizeTarget keeps ${target}`, () => {
    assert.equal(normalizeTarget(target), target);
  });
}

const changed = [
  ["/%6dcp", "/mcp"],
  ["/%6Dcp?q=%6d", "/mcp?q=%6d"],
  ["/a%2fb", "/a%2Fb"],
  ["/caf%c3%a9", "/caf%C3%A9"],
  ["/a/./b", "/a/b"],
  ["/a/../b", "/b"],
  ["/a/%2e%2E/b", "/b"],
  ["/a/.%2e/b", "/b"],
  ["/a/b/..", "/a/"],
  ["/a/b/.", "/a/b/"],
  ["/a/..", "/"],
  ["/.", "/"],
  ["/a//../b", "/a/b"],
  ["/open/../admin?x=1", "/admin?x=1"],
] as const;
for (const [target, expected] of changed) {
  Deno.test(`normalizeTarget converts ${target} to ${expected}`, () => {
    assert.equal(normalizeTarget(target), expected);
  });
}

const rejected = [
  "/mcp/%zz",
  "/%",
  "/%4",
  "/a%%36d",
  "/..",
  "/../etc/passwd",
  "/a/../../b",
  "/%2e%2e/b",
  "/open/..%2Fadmin",
  "/open/..%2fadmin",
  "/open/%2e%2e%2fadmin",
  "/open/x%2F..%2Fadmin",
  "/open/x%2F..",
  "/open/..%5Cadmin",
  "/open/..;/admin",
  "/open/..;v=1/admin",
  "/open\\..\\admin",
  "/open%00",
  "/a#b",
  "/a?b#c",
];
for (const target of rejected) {
  Deno.test(`normalizeTarget rejects ${target}`, () => {
    assert.throws(() => normalizeTarget(target), { code: "bad_request" });
  });
}

const reasons = [
  ["/mcp/%zz", '"%zz" is not a percent-encoded byte'],
  ["/100%", '"%" is not a percent-encoded byte'],
  ["/a%00", 'it contains "%00"'],
  ["/a\\b", 'it contains "\\"'],
  ["/a?b#c", 'it contains "#"'],
  ["/open/..%2fadmin", 'some servers interpret "..%2Fadmin" as dot segments'],
  ["/a/../../b", '".." segments lead above the root'],
] as const;
for (const [target, reason] of reasons) {
  Deno.test(`normalizeTarget reports why it rejects ${target}`, () => {
    assert.throws(() => normalizeTarget(target), {
      message: `Invalid path: ${reason}`,
    });
  });
}

/** Returns the normalized target; `undefined` when it is invalid. */
function normalOrNone(target: string): string | undefined {
  try {
    return normalizeTarget(target);
  } catch {
    return undefined;
  }
}

const pathPieces = fc.array(
  fc.constantFrom(
    "/",
    "a",
    ".",
    "..",
    "%2e",
    "%2E",
    "%2f",
    "%5c",
    ";",
    "//",
    "%6d",
    "%",
    "%zz",
    "?",
    "\\",
  ),
  { maxLength: 12 },
);

Deno.test("normalizeTarget is idempotent", () => {
  fc.assert(fc.property(pathPieces, (pieces) => {
    const normal = normalOrNone("/" + pieces.join(""));
    if (normal !== undefined) assert.equal(normalizeTarget(normal), normal);
  }));
});

Deno.test("normalizeTarget leaves no dot segments, even after decoding again", () => {
  fc.assert(fc.property(pathPieces, (pieces) => {
    const normal = normalOrNone("/" + pieces.join(""));
    const [path = ""] = (normal ?? "").split("?");
    const decoded = path.replaceAll(/%2F|%5C/g, "/").replaceAll(/;[^/]*/g, "");
    assert.doesNotMatch(decoded, /\/\.\.?(\/|$)/);
  }));
});
