import type { BasicAuthentication } from "./basic_schema.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { describeReadError } from "../../base/regular_file.ts";
import { rejectWith } from "./auth_responses.ts";
import { credentialPlace } from "./credential.ts";
import {
  type HtpasswdLine,
  linesOf,
  type PasswordCheck,
  readHtpasswdLine,
} from "./htpasswd.ts";
import { PasswordVerifier } from "./password_verifier.ts";
import type {
  Policy,
  PolicyContext,
  RequestVerdict,
} from "../contract/policy.ts";
import { isAuthenticated } from "../contract/alternatives.ts";
import { basicAuthUser } from "./request_identity.ts";
import type { PolicyProblem, ReadFile } from "../contract/policy_kind.ts";
import { Rejection } from "../contract/rejection.ts";

const DEFAULT_REALM = "Restricted";

/** Finds invalid lines, duplicate users, and an unreadable file. */
export function checkBasicAuthentication(
  { users, file }: BasicAuthentication,
  readFile: ReadFile,
): readonly PolicyProblem[] {
  if (file === undefined) {
    return faultsOf(users ?? []).map(({ index, fault }) => ({
      path: ["users", index],
      message: `Cannot use the line: ${fault}`,
    }));
  }
  try {
    const lines = linesOf(readFile(file));
    if (lines.length === 0) throw new TypeError("it has no users");
    const [first] = faultsOf(lines);
    if (first !== undefined) throw new TypeError(first.fault);
    return [];
  } catch (error) {
    const message = `Cannot read the users of ${JSON.stringify(file)}: ${
      describeReadError(error)
    }`;
    return [{ path: ["file"], message }];
  }
}

function faultsOf(
  lines: readonly string[],
): readonly { readonly index: number; readonly fault: string }[] {
  const read = lines.map(readHtpasswdLine);
  const names = read.map(nameOf);
  return read.flatMap((line, index) => {
    if ("fault" in line) return [{ index, fault: line.fault }];
    const fault = `user ${JSON.stringify(line.username)} is listed twice`;
    return names.indexOf(line.username) < index ? [{ index, fault }] : [];
  });
}

function nameOf(line: HtpasswdLine): string | undefined {
  return "fault" in line ? undefined : line.username;
}

/** Authenticates users by name and password (RFC 7617). The password does not go upstream; the user is `basicAuth` in expressions. */
export function createBasicAuthentication(
  { mode, realm = DEFAULT_REALM, users, file }: BasicAuthentication,
  readFile: ReadFile,
  clock: Clock = systemClock,
): Policy<"basic_auth"> {
  const lines = file === undefined ? users ?? [] : linesOf(readFile(file));
  const verifier = new PasswordVerifier(usersOf(lines), clock);
  return new BasicAuthenticationPolicy(mode, realm, verifier);
}

type Verdict = RequestVerdict<"basic_auth">;

const place = credentialPlace({
  header: { name: "authorization", prefix: "Basic " },
});

class BasicAuthenticationPolicy implements Policy<"basic_auth"> {
  readonly #mode: BasicAuthentication["mode"];
  readonly #challenge: string;
  readonly #verifier: PasswordVerifier;

  constructor(
    mode: BasicAuthentication["mode"],
    realm: string,
    verifier: PasswordVerifier,
  ) {
    this.#mode = mode;
    this.#challenge = `Basic realm="${realm}", charset="UTF-8"`;
    this.#verifier = verifier;
  }

  onRequest(context: PolicyContext): Verdict | Promise<Verdict> {
    if (this.#mode === "AnyOf" && context.slots.get(isAuthenticated)) return;
    const credentials = place.read(context.request);
    if (credentials !== undefined) return this.#verify(credentials, context);
    if (this.#mode === "Strict" || this.#mode === "AnyOf") {
      return this.#reject("user name and password required");
    }
    context.trace?.skip("no user name and password");
  }

  async #verify(
    credentials: string,
    { request, client, slots, trace }: PolicyContext,
  ): Promise<Verdict> {
    const [username, password] = decode(credentials) ?? [];
    if (username === undefined || password === undefined) {
      return this.#reject("the credentials are malformed");
    }
    const verdict = await this.#verifier.verify(
      username,
      password,
      client.address,
    );
    if (verdict === "busy") return rejectTemporarily();
    if (verdict === "wrong") {
      return this.#reject("user name or password is wrong");
    }
    slots.set(basicAuthUser, { username });
    trace?.apply({ username });
    place.remove(request);
  }

  #reject(description: string): Rejection<"basic_auth"> {
    const response = rejectWith("unauthorized", description, {
      "www-authenticate": this.#challenge,
    });
    return new Rejection("basic_auth", description, response);
  }
}

function rejectTemporarily(): Rejection<"basic_auth"> {
  const description = "too many passwords are being checked";
  const response = rejectWith("temporarily_unavailable", description, {
    "retry-after": "1",
  });
  return new Rejection("basic_auth", description, response);
}

function usersOf(
  lines: readonly string[],
): ReadonlyMap<string, PasswordCheck> {
  return new Map(
    lines.map(readHtpasswdLine).flatMap((line) =>
      "fault" in line ? [] : [[line.username, line.check] as const]
    ),
  );
}

/** Decodes name and password from `dXNlcjpwYXNz`; `undefined` if malformed. */
function decode(credentials: string): [string, string] | undefined {
  try {
    const bytes = Uint8Array.fromBase64(credentials);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const colon = text.indexOf(":");
    return colon < 0
      ? undefined
      : [text.slice(0, colon), text.slice(colon + 1)];
  } catch {
    return undefined;
  }
}
