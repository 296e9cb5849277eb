import assert from "node:assert/strict";
import fc from "fast-check";
import {
  exposedName,
  exposedUri,
  foldName,
  matchesTemplate,
  originalName,
  originalUri,
} from "../../../../src/mcp/names/names.ts";

Deno.test("a name with a prefix leads back to the server's name", () => {
  assert.equal(exposedName("docs", "find"), "docs_find");
  assert.equal(exposedName("", "find"), "find");
  assert.equal(originalName("docs", "docs_find"), "find");
  assert.equal(originalName("docs", "github_find"), undefined);
  assert.equal(originalName("a", "a_b_c"), "b_c");
});

Deno.test("every name is one that model providers accept, and no two names of a server become the same", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ minLength: 1, maxLength: 200 }), {
        minLength: 2,
        maxLength: 20,
      }),
      fc.constantFrom("", "docs", "a-long-prefix-of-some-server"),
      (names, prefix) => {
        const exposed = names.map((name) => exposedName(prefix, name));
        for (const name of exposed) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
        assert.equal(new Set(exposed).size, names.length);
        for (const [index, name] of exposed.entries()) {
          const original = originalName(prefix, name);
          assert(original === undefined || original === names[index]);
        }
      },
    ),
  );
});

Deno.test("names of two servers never meet, whatever tools are called", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1 }),
      fc.string({ minLength: 1 }),
      (a, b) => {
        assert.notEqual(exposedName("a", a), exposedName("a-b", b));
        assert.notEqual(exposedName("one", a), exposedName("two", b));
      },
    ),
  );
});

Deno.test("look-alikes are folded to one name", () => {
  assert.equal(foldName("Read-File"), foldName("read_file"));
  assert.notEqual(foldName("read_file"), foldName("read_files"));
});

Deno.test("URIs lead back to those of the server, and keep expressions and the scheme of pages", () => {
  for (const uri of ["file:///a", "a+b://c", "ui://page", "doc://{path}{?q}"]) {
    const exposed = exposedUri("docs", uri);
    assert.equal(originalUri("docs", exposed), uri);
    assert.equal(originalUri("other", exposed), undefined);
    assert.equal(exposedUri("", uri), uri);
  }
  assert.equal(exposedUri("docs", "ui://page"), "ui://docs+page");
  assert.equal(exposedUri("docs", "doc://{+path}"), "docs+doc://{+path}");
});

Deno.test("a template matches the URIs that are made of it", () => {
  assert(matchesTemplate("doc://{a}/x/{b}", "doc://1/x/2"));
  assert(matchesTemplate("doc://{a}", "doc://"));
  assert(!matchesTemplate("doc://{a}/x", "doc://1/y"));
  assert(!matchesTemplate("doc://{a}/x", "file://1/x"));
  assert(!matchesTemplate("doc://a", "doc://ab"));
});
