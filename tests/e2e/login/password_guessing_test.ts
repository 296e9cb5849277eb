import assert from "node:assert/strict";
import { hashSync } from "bcryptjs";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

const GUESSERS = 30;

for (const victim of ["anna", "otto"]) {
  Deno.test(`${victim} gets in with the right password while 30 connections guess that of anna`, async () => {
    const users = ["anna", "otto"].map((name) =>
      `${name}:${hashSync("secret", 6)}`
    );
    await using gateway = await startTestGateway({
      routes: [{
        policies: {
          basicAuthentication: { users },
          directResponse: { status: 200 },
        },
      }],
    });
    const send = async (credentials: string) => {
      const authorization = `Basic ${btoa(credentials)}`;
      const response = await fetch(gateway.origin, {
        headers: { authorization },
      });
      await response.body?.cancel();
      return response.status;
    };
    let isOver = false;
    const guess = async (guesser: number) => {
      for (let i = 0; !isOver; i++) await send(`anna:${guesser}-${i}`);
    };
    const guessing = Array.from({ length: GUESSERS }, (_, i) => guess(i));
    await send("anna:first");

    const statuses = await Promise.all(
      Array.from({ length: 8 }, () => send(`${victim}:secret`)),
    );

    isOver = true;
    await Promise.all(guessing);
    assert.deepEqual(new Set(statuses), new Set([200]));
  });
}
