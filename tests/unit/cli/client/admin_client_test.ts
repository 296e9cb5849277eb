import assert from "node:assert/strict";
import { askAdmin } from "../../../../cli/client/admin_client.ts";
import { FakeClock } from "../../../harness/fake_clock.ts";

for (
  const [name, pathAndQuery] of [["a head", "/head"], ["an end", "/body"]]
) {
  Deno.test(`askAdmin waits ten seconds for ${name} of the answer`, async () => {
    const clock = new FakeClock();
    const over = Promise.withResolvers<Response>();
    const asked = Promise.withResolvers<void>();
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => {
        asked.resolve();
        if (new URL(request.url).pathname === "/head") return over.promise;
        return new Response(new ReadableStream(), {
          headers: { "content-type": "text/plain" },
        });
      },
    );
    const admin = `127.0.0.1:${server.addr.port}`;
    const question = { pathAndQuery: pathAndQuery ?? "", type: "text/plain" };

    const answer = askAdmin({ admin }, question, clock);
    await asked.promise;
    clock.advance(9999);
    assert.equal(clock.pending, 1);
    clock.advance(1);

    await assert.rejects(answer, /^Failure: .*timed out/);
    over.resolve(new Response());
  });
}

for (
  const [name, token] of [
    ["of two lines", "first-secret-line\nsecond-secret-line"],
    ["that no header can hold", "sécret-sécret-sécret€"],
    ["that is too short", "secret"],
    ["that is empty", ""],
  ] as const
) {
  Deno.test(`askAdmin refuses a token ${name} and does not show it`, async () => {
    const tokenFile = await Deno.makeTempFile();
    await Deno.writeTextFile(tokenFile, token);
    const question = { pathAndQuery: "/logging", type: "text/plain" };
    try {
      // Nobody listens there, and nobody is asked.
      const answer = askAdmin({ admin: "127.0.0.1:1", tokenFile }, question);

      await assert.rejects(answer, ({ message }: Error) => {
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
