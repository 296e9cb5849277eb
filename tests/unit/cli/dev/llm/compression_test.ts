import assert from "node:assert/strict";
import { acceptsGzip } from "../../../../../cli/dev/llm/compression.ts";

for (
  const { header, expected } of [
    { header: "gzip", expected: true },
    { header: "br, GZIP;q=0.5", expected: true },
    { header: "deflate,gzip ; q=1.0", expected: true },
    { header: "gzip;q=0", expected: false },
    { header: "gzip;q=0.000, br", expected: false },
    { header: "identity", expected: false },
    { header: "x-gzip", expected: false },
    { header: "", expected: false },
  ]
) {
  Deno.test(`acceptsGzip is ${expected} for "${header}"`, () => {
    assert.equal(
      acceptsGzip(new Headers({ "accept-encoding": header })),
      expected,
    );
  });
}
