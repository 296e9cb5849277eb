import assert from "node:assert/strict";
import { responseFraming } from "../../../../src/http/http1/framing.ts";
import { HeaderList } from "../../../../src/http/header_list.ts";

for (
  const { method, status } of [
    { method: "HEAD", status: 200 },
    { method: "GET", status: 304 },
  ]
) {
  Deno.test(`responseFraming rejects two lengths of an absent body, ${method} ${status}`, () => {
    const headers = HeaderList.from([
      ["content-length", "3"],
      ["content-length", "4"],
    ]);

    assert.throws(
      () => responseFraming(headers, status, method, 1),
      /two Content-Length headers/,
    );
  });
}
