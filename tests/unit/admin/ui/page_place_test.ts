import assert from "node:assert/strict";

/** Not checked with this file: its types are those of a browser. */
const module = "../../../../admin/ui/page/navigation/place.ts";

Deno.test("an argument is remembered, but not once the user has followed a link to another page", async () => {
  const location = { hash: "#requests" };
  const history = {
    replaceState(_state: unknown, _title: string, hash: string) {
      location.hash = hash;
    },
  };
  for (const [name, value] of Object.entries({ location, history })) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
  const { place, remember } = await import(module);

  remember("requests", "text=a");
  const first = place.value;
  location.hash = "#main";
  remember("requests", "text=ab");
  const second = place.value;
  // The event for it comes later.
  location.hash = "#traffic";
  remember("requests", "text=abc");
  assert.deepEqual(first, { page: "requests", argument: "text=a" });
  assert.deepEqual(second, { page: "requests", argument: "text=ab" });
  const before = place.value;
  dispatchEvent(new Event("hashchange"));
  // The page for it is drawn later.
  remember("requests", "text=abcd");

  assert.deepEqual(before, second);
  assert.equal(location.hash, "#traffic");
  assert.deepEqual(place.value, { page: "traffic", argument: "" });
});
