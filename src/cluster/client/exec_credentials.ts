import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
  valueAt,
} from "../../base/json.ts";

/** Credentials that a program of a kubeconfig printed. */
export interface ExecCredential {
  readonly token?: string;
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/** A program did not print credentials; the message names it and the problem, and has nothing of what it printed. */
export class ExecError extends Error {
  override readonly name = "ExecError";
}

/** Dependencies of running a program for credentials. */
export interface ExecOptions {
  readonly clock: Clock;
  /** Folder of the kubeconfig, which relative commands with a slash are relative to; empty for that of the process. */
  readonly folder: string;
  /** Cluster of the kubeconfig, for programs with `provideClusterInfo`. */
  readonly cluster: JsonObject;
  /** Standard input is a terminal, so that the program may ask the user. */
  readonly isInteractive: boolean;
}

const GROUP = "client.authentication.k8s.io";
const versions = [`${GROUP}/v1`, `${GROUP}/v1beta1`];
/** Credentials are replaced this long before they expire. */
const MARGIN_MS = 10_000;

/**
 * Gets credentials from the program of a kubeconfig, again when they expire.
 *
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
export class ExecCredentials {
  readonly #exec: JsonObject;
  readonly #options: ExecOptions;
  #current: Promise<ExecCredential> | undefined;
  #expiresAt = Infinity;

  /** @throws {ExecError} When the program is not described completely. */
  constructor(exec: JsonObject, options: ExecOptions) {
    this.#exec = exec;
    this.#options = options;
    const apiVersion = String(exec["apiVersion"]);
    if (!versions.includes(apiVersion)) {
      throw new ExecError(
        `"exec.apiVersion": expected ${
          versions.join(" or ")
        }, got "${apiVersion}"`,
      );
    }
    if (!isText(exec["command"])) {
      throw new ExecError('"exec.command" is not set');
    }
    if (exec["interactiveMode"] === "Always" && !options.isInteractive) {
      throw new ExecError(
        `"${
          exec["command"]
        }" needs a terminal: "exec.interactiveMode" is "Always"`,
      );
    }
  }

  /** Returns credentials that are valid for some seconds at least. @throws {ExecError} */
  async get(): Promise<ExecCredential> {
    const { clock } = this.#options;
    if (this.#current === undefined || clock.now() > this.#expiresAt) {
      this.#expiresAt = Infinity;
      this.#current = this.#run();
      // The next request attempts it again.
      this.#current.catch(() => this.#current = undefined);
    }
    return await this.#current;
  }

  /** Makes the next `get` run the program. */
  forget(): void {
    this.#current = undefined;
  }

  async #run(): Promise<ExecCredential> {
    const command = String(this.#exec["command"]);
    const output = await this.#start(command);
    const status = valueAt(parseJson(output), "status");
    if (!isJsonObject(status)) {
      throw new ExecError(
        `"${command}" printed no ExecCredential with a status`,
      );
    }
    const token = stringMember(status, "token");
    const cert = stringMember(status, "clientCertificateData");
    const key = stringMember(status, "clientKeyData");
    if (token === undefined && (cert === undefined || key === undefined)) {
      throw new ExecError(
        `"${command}" printed neither a token nor a client certificate with its key`,
      );
    }
    const expires = Date.parse(
      stringMember(status, "expirationTimestamp") ?? "",
    );
    if (!Number.isNaN(expires)) this.#expiresAt = expires - MARGIN_MS;
    return {
      ...(token !== undefined && { token }),
      ...(cert !== undefined && key !== undefined &&
        { certificate: { cert, key } }),
    };
  }

  async #start(command: string): Promise<string> {
    const { folder, isInteractive } = this.#options;
    const { args, interactiveMode, installHint } = this.#exec;
    const isRelative = command.includes("/") && !command.startsWith("/");
    try {
      const { code, stdout } = await new Deno.Command(
        isRelative && folder !== "" ? `${folder}/${command}` : command,
        {
          args: Array.isArray(args) ? args.map(String) : [],
          env: this.#environment(),
          stdin: isInteractive && interactiveMode !== "Never"
            ? "inherit"
            : "null",
          stdout: "piped",
          stderr: "inherit",
        },
      ).output();
      if (code === 0) return new TextDecoder().decode(stdout);
      throw new ExecError(`"${command}" ended with exit code ${code}`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      const hint = isText(installHint) ? `: ${installHint}` : "";
      throw new ExecError(
        `Cannot start "${command}": ${describeError(error)}${hint}`,
      );
    }
  }

  #environment(): Readonly<Record<string, string>> {
    const { env, apiVersion, provideClusterInfo } = this.#exec;
    const { cluster, isInteractive } = this.#options;
    const own = Array.isArray(env) ? env.filter(isJsonObject) : [];
    return {
      ...Object.fromEntries(
        own.map(({ name, value }) => [String(name), String(value)]),
      ),
      KUBERNETES_EXEC_INFO: JSON.stringify({
        apiVersion,
        kind: "ExecCredential",
        spec: {
          interactive: isInteractive,
          ...(provideClusterInfo === true && { cluster }),
        },
      }),
    };
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
