import { importJWK, jwtVerify } from "jose";
import { systemClock } from "../../src/base/clock.ts";
import { readKeySet } from "../../src/identity/keys/key_set.ts";
import { TokenVerifier } from "../../src/identity/tokens/token_verifier.ts";
import {
  createTokenIssuer,
  jwksOf,
  type TokenIssuer,
} from "../harness/login/tokens.ts";
import { compare, type Comparison, load, median } from "./measure.ts";
import { startGateway } from "./neighbours.ts";
import { type Row, row } from "./row.ts";

const audience = "https://gw.example/mcp";
const tokensPerBatch = 200;

/** Duration and rounds of a benchmark. */
export interface Repetition {
  readonly rounds: number;
  readonly seconds: number;
}

/** Measures token verification: a cached token through the gateway, and new tokens compared with jose. */
export async function jwtRows(
  upstreamPort: number,
  repetition: Repetition,
): Promise<Row[]> {
  const issuer = await createTokenIssuer({
    alg: "RS256",
    now: Date.now() + 3_600_000,
  });
  const known = await compareKnownToken(issuer, upstreamPort, repetition);
  const { ours, jose } = await compareNewTokens(issuer, repetition.rounds * 6);
  const added = ours / jose;
  return [
    row(
      "JWT + authorization, same token / plain",
      known.rate,
      "x",
      { atLeast: 0.85 },
      known.cpuMicros,
    ),
    row("new RS256 token", ours * 1000, "µs", undefined),
    row("new RS256 token / jose alone", added, "x", { atMost: 1.2 }),
  ];
}

/** Compares with a plain route that receives the same requests. */
async function compareKnownToken(
  issuer: TokenIssuer,
  upstreamPort: number,
  { rounds, seconds }: Repetition,
): Promise<Comparison> {
  await using plain = await startGateway(upstreamPort);
  await using guarded = await startGateway(upstreamPort, {
    jwtAuthentication: {
      providers: [{
        issuer: issuer.issuer,
        audiences: [audience],
        jwks: { inline: jwksOf(issuer) },
      }],
    },
    authorization: {
      policy: { matchExpressions: ["'call:mcp' in jwt.permissions"] },
    },
  });
  const token = await issuer.sign({ permissions: ["call:mcp"] });
  const headers = { authorization: `Bearer ${token}` };
  return await compare(
    () => load(plain, seconds, { headers }),
    () => load(guarded, seconds, { headers }),
    rounds,
  );
}

/** Returns milliseconds per new token, verified sequentially. */
async function compareNewTokens(
  issuer: TokenIssuer,
  batches: number,
): Promise<{ readonly ours: number; readonly jose: number }> {
  const keys = await readKeySet(jwksOf(issuer));
  const verifier = new TokenVerifier({
    providers: [{
      issuer: issuer.issuer,
      audiences: [audience],
      keys: { get: () => keys, newer: () => Promise.resolve(keys) },
    }],
    clockSkewMs: 60_000,
    clock: systemClock,
  });
  const key = await importJWK({ ...issuer.jwk }, "RS256");
  const options = {
    issuer: issuer.issuer,
    audience,
    algorithms: ["RS256"],
    clockTolerance: 60,
  };
  const contenders = {
    ours: (token: string) => verifier.verify(token),
    jose: (token: string) => jwtVerify(token, key, options),
  };
  const times = { ours: [] as number[], jose: [] as number[] };
  for (let batch = 0; batch < batches; batch++) {
    // The second of two runs has a warmer processor, so the order alternates.
    const order = batch % 2 === 0
      ? ["ours", "jose"] as const
      : ["jose", "ours"] as const;
    const tokens = await signBatch(issuer, batch);
    for (const name of order) {
      times[name].push(await timeEach(tokens, contenders[name]));
    }
  }
  return { ours: median(times.ours), jose: median(times.jose) };
}

function signBatch(issuer: TokenIssuer, batch: number): Promise<string[]> {
  const claims = { permissions: ["call:mcp"] };
  return Promise.all(
    Array.from(
      { length: tokensPerBatch },
      (_, index) => issuer.sign({ ...claims, jti: `${batch}-${index}` }),
    ),
  );
}

async function timeEach(
  tokens: readonly string[],
  verify: (token: string) => unknown,
): Promise<number> {
  const startedAt = performance.now();
  for (const token of tokens) await verify(token);
  return (performance.now() - startedAt) / tokens.length;
}
