import assert from "node:assert/strict";
import { requestAdmin } from "../../../../cli/client/admin_client.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

for (
  const [name, pathAndQuery] of [["a head", "/head"], ["an end", "/body"]]
) {
  Deno.test(`requestAdmin waits ten seconds for ${name} of the response`, async () => {
    const clock = new FakeClock();
    const over = Promise.withResolvers<Response>();
    const received = Promise.withResolvers<void>();
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => {
        received.resolve();
        if (new URL(request.url).pathname === "/head") return over.promise;
        return new Response(new ReadableStream(), {
          headers: { "content-type": "text/plain" },
        });
      },
    );
    const admin = `127.0.0.1:${server.addr.port}`;
    const query = { pathAndQuery: pathAndQuery ?? "", type: "text/plain" };

    const response = requestAdmin({ admin }, query, clock);
    await received.promise;
    clock.advance(9999);
    assert.equal(clock.pending, 1);
    clock.advance(1);

    await assert.rejects(response, /^Failure: .*timed out/);
    over.resolve(new Response());
  });
}

for (
  const [name, token] of [
    ["with two lines", "first-secret-line\nsecond-secret-line"],
    ["that is invalid in a header", "sécret-sécret-sécret€"],
    ["that is too short", "secret"],
    ["that is empty", ""],
  ] as const
) {
  Deno.test(`requestAdmin rejects a token ${name} without printing it`, async () => {
    const tokenFile = await Deno.makeTempFile();
    await Deno.writeTextFile(tokenFile, token);
    const query = { pathAndQuery: "/logging", type: "text/plain" };
    try {
      // Nothing listens on this port, and no request is sent.
      const response = requestAdmin(
        { admin: "127.0.0.1:1", tokenFile },
        query,
      );

      await assert.rejects(response, ({ message }: Error) => {
        assert.match(
          message,
          /^Cannot use the token in ".*": expected one line/,
        );
        assert.doesNotMatch(message, /cret/);
        return true;
      });
    } finally {
      await Deno.remove(tokenFile);
    }
  });
}
