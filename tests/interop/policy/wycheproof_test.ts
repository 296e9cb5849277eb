import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { isSignedBy } from "../../../src/identity/keys/jose.ts";
import {
  candidateKeys,
  readKeySet,
} from "../../../src/identity/keys/key_set.ts";
import { parseJws } from "../../../src/identity/tokens/token.ts";

// The vectors are not part of the repository; the tests run where they lie beside it.
const folder = new URL(
  "../../../../shared/vectors/wycheproof/",
  import.meta.url,
);

interface Vector {
  readonly tcId: number;
  readonly comment: string;
  readonly jws: string;
  readonly result: "valid" | "invalid" | "acceptable";
}

interface Group {
  readonly comment: string;
  readonly public?: unknown;
  readonly private: unknown;
  readonly tests: readonly Vector[];
}

function isKeySet(value: unknown): boolean {
  return typeof value === "object" && value !== null && "keys" in value;
}

/** Returns whether the keys, as an identity provider publishes them, verify the signature. */
async function accepts(keys: unknown, jws: string): Promise<boolean> {
  try {
    const set = await readKeySet(
      JSON.stringify(isKeySet(keys) ? keys : { keys: [keys] }),
    );
    const { algorithm, kid } = parseJws(jws);
    for (const key of candidateKeys(set, kid, algorithm)) {
      const ready = await key.forAlgorithm(algorithm);
      if (await isSignedBy(jws, ready, algorithm)) return true;
    }
  } catch {
    // Whatever cannot be read is not accepted.
  }
  return false;
}

/** Keys that both sides know: never accepted, whatever the vector says. */
function isSymmetric({ private: keys }: Group): boolean {
  return JSON.stringify(keys).includes('"kty":"oct"');
}

const otherAlgorithm = "the key is for another algorithm than the token's";
const noAlgorithm = "the key is for ES521, which does not exist";

/** By file and number: valid vectors that are refused here, and why. */
const stricter: Readonly<Record<string, string>> = {
  "json_web_signature 346": otherAlgorithm,
  "json_web_signature 347": noAlgorithm,
  "json_web_signature 350": otherAlgorithm,
  "json_web_signature 351": noAlgorithm,
};

interface Suite {
  readonly numberOfTests: number;
  readonly testGroups: readonly Group[];
}

/** The vectors that are judged otherwise than they should. */
async function misjudged(
  name: string,
  { testGroups }: Suite,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const group of testGroups) {
    for (const { tcId, comment, jws, result } of group.tests) {
      const expected = result === "valid" && !isSymmetric(group) &&
        stricter[`${name} ${tcId}`] === undefined;
      if (await accepts(group.public ?? group.private, jws) !== expected) {
        wrong.push(`${tcId} ${group.comment}: ${comment}, ${result}`);
      }
    }
  }
  return wrong;
}

for (const name of ["json_web_signature", "json_web_key"]) {
  const file = new URL(`${name}.json`, folder);
  if (!existsSync(file)) continue;
  const suite = JSON.parse(Deno.readTextFileSync(file)) as Suite;
  const count = suite.testGroups.flatMap(({ tests }) => tests).length;
  Deno.test(`the verifier judges the ${count} vectors of Wycheproof's ${name}`, async () => {
    assert.equal(count, suite.numberOfTests);
    assert.deepEqual(await misjudged(name, suite), []);
  });
}
