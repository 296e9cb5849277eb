import type { Clock } from "../../base/clock.ts";
import { readFileText } from "../../base/regular_file.ts";

/** Address and credentials of a Kubernetes API server. */
export interface ClusterAccess {
  /** Without a path: `https://10.96.0.1:443`. */
  readonly server: string;
  /** PEM. Default: the CAs of the system. */
  readonly ca?: string;
  /** Client certificate, PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Returns the bearer token; called for each request, because tokens of service accounts rotate. */
  readonly token?: () => Promise<string>;
  /** Forgets a token that the API server rejected. */
  readonly forgetToken?: () => void;
  /** Namespace of the service account, or of the kubeconfig's context. */
  readonly namespace: string;
}

/** Source of bearer tokens. */
export type TokenSource = Pick<ClusterAccess, "token" | "forgetToken">;
/** Credentials of a client. */
export type Credentials = TokenSource & Pick<ClusterAccess, "certificate">;

/** The access to a cluster is not configured, or incomplete; the message says what is missing, and where. */
export class ClusterAccessError extends Error {
  override readonly name = "ClusterAccessError";
}

/** Dependencies of finding a cluster. */
export interface AccessOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Path of a kubeconfig; default those of `$KUBECONFIG`, then the service account, then `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  /** Starts the programs that kubeconfigs name for credentials; a process that serves requests starts none. */
  readonly startsPrograms?: boolean;
  /** Folder of the service account; default the one that the kubelet mounts. */
  readonly serviceAccount?: string;
}

/** The kubelet refreshes tokens long before they expire; client-go reads the file once a minute, too. */
const TOKEN_AGE_MS = 60_000;

/** Reads a token from a file, again when it is old or was rejected. */
export function rereadToken(path: string, clock: Clock): TokenSource {
  let token: string | undefined;
  let readAt = 0;
  return {
    async token() {
      if (token === undefined || clock.monotonic() - readAt > TOKEN_AGE_MS) {
        token = (await readFileText(path)).trim();
        readAt = clock.monotonic();
      }
      return token;
    },
    forgetToken: () => token = undefined,
  };
}
