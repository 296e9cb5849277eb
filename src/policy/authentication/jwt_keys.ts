import type { JwtAuthentication } from "./jwt_schema.ts";
import {
  addressOfUrl,
  type DocumentServer,
} from "../../identity/documents/document_client.ts";
import type { KeySource } from "../../identity/keys/key_set.ts";
import { DocumentUnavailableError } from "../../identity/documents/remote_document.ts";
import type { PolicyOptions } from "../policy_kind.ts";

type Jwks = JwtAuthentication["providers"][number]["jwks"];

/** Returns the source of the keys of a provider. */
export function keySource(jwks: Jwks, options: PolicyOptions): KeySource {
  const { keys } = options.services.identity;
  const { remote, url, inline, file } = jwks;
  if (inline !== undefined) return keys({ kind: "inline", text: inline });
  if (file !== undefined) return keys({ kind: "file", path: file });
  if (url !== undefined) {
    return keys({ kind: "remote", address: addressOfUrl(url) });
  }
  const server = jwksServer(jwks, options);
  if (remote === undefined || server === undefined) return noKeys;
  const address = { ...server, target: remote.jwksPath };
  return keys({ kind: "remote", address });
}

/** Returns the backend with the keys of a provider; `undefined` when they are elsewhere or it cannot be called. */
export function jwksServer(
  { remote }: Jwks,
  { connectionOf }: PolicyOptions,
): DocumentServer | undefined {
  if (remote === undefined) return undefined;
  const connection = connectionOf(remote.backendRef);
  if (connection === undefined) return undefined;
  const { host, port, tls } = connection;
  const name = tls?.hostname ?? host;
  const isExpected = port === (tls === undefined ? 80 : 443);
  const spelled = name.includes(":") ? `[${name}]` : name;
  return { connection, authority: isExpected ? spelled : `${spelled}:${port}` };
}

const RETRY_AFTER_SECONDS = 60;

/** Key source for a backend that cannot be called, so that requests are rejected. */
const noKeys: KeySource = {
  get: () =>
    Promise.reject(
      new DocumentUnavailableError(
        "Cannot call key backend",
        RETRY_AFTER_SECONDS,
      ),
    ),
  newer: (than) => Promise.resolve(than),
};
