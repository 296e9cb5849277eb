import assert from "node:assert/strict";
import { ClientCounts } from "../../../src/http/server/contract/client_counts.ts";

const cases = [
  ["10.0.0.1", "10.0.0.1", 1],
  ["10.0.0.1", "10.0.0.2", 0],
  ["2001:db8:1:2::1", "2001:db8:1:2:ffff::2", 1],
  ["2001:db8:0:2::1", "2001:db8::2:0:0:0:9", 1],
  ["2001:db8:1:2::1", "2001:db8:1:3::1", 0],
  ["::1", "0:0:0:0:1::", 1],
] as const;
for (const [one, other, count] of cases) {
  Deno.test(`a connection of ${one} counts ${count} for ${other}`, () => {
    const counts = new ClientCounts();
    const release = counts.add(one);
    assert.equal(counts.of(other), count);
    release();
    assert.equal(counts.of(other), 0);
  });
}
