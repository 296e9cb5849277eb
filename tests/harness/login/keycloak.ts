import assert from "node:assert/strict";
import { join } from "node:path";
import {
  blocksOf,
  type DocumentedAddress,
  type LocalProvider,
} from "../gateway/documented_gateway.ts";
import { freePort } from "../process/free_port.ts";
import { LogLines } from "../telemetry/log_lines.ts";

/** The realm of the documentation. */
const REALM = "agents";

/** A running Keycloak, with an administrator. */
export class Keycloak implements AsyncDisposable {
  readonly origin: string;
  readonly #home: string;
  readonly #folder: string;
  readonly #child: Deno.ChildProcess;
  readonly #log = new LogLines();
  readonly #ended: Promise<unknown>;

  /** Starts the Keycloak in the folder `KEYCLOAK_HOME`; resolves when it listens. */
  static async start(): Promise<Keycloak> {
    const home = Deno.env.get("KEYCLOAK_HOME");
    assert(home, 'KEYCLOAK_HOME is not set: use "make interop-keycloak"');
    const keycloak = new Keycloak(home, await Deno.makeTempDir(), freePort());
    await keycloak.#log.next(/Listening on: http/);
    return keycloak;
  }

  private constructor(home: string, folder: string, port: number) {
    this.#home = home;
    this.#folder = folder;
    this.origin = `http://127.0.0.1:${port}`;
    this.#child = new Deno.Command(join(home, "bin/kc.sh"), {
      args: [
        "start-dev",
        "--db=dev-mem",
        "--http-host=127.0.0.1",
        `--http-port=${port}`,
      ],
      env: {
        JAVA_OPTS_KC_HEAP: "-Xms64m -Xmx640m",
        // It runs for a minute only.
        JAVA_OPTS_APPEND: "-XX:TieredStopAtLevel=1",
        KC_BOOTSTRAP_ADMIN_USERNAME: "admin",
        KC_BOOTSTRAP_ADMIN_PASSWORD: "admin",
      },
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#ended = Promise.all([
      this.#log.addAll(this.#child.stdout),
      this.#log.addAll(this.#child.stderr),
      this.#child.status,
    ]);
  }

  /** Creates a realm with the user `ada` and runs the documented commands there, for a gateway at `address`. */
  async configureRealm(
    realm: string,
    { url }: DocumentedAddress,
  ): Promise<LocalProvider> {
    const user = {
      username: "ada",
      enabled: true,
      email: "ada@example.com",
      emailVerified: true,
      firstName: "Ada",
      lastName: "Lovelace",
      realmRoles: [`default-roles-${realm}`],
      credentials: [{ type: "password", value: "ada" }],
    };
    const [logIn = "", ...commands] = blocksOf("Keycloak", "sh").join("\n")
      .replaceAll(REALM, realm)
      .replaceAll("https://keycloak.example.com", this.origin)
      .replaceAll("https://mcp.example.com", new URL(url).origin)
      .split("\n");
    await this.#run([
      // The password is asked for.
      `${logIn} --password admin`,
      `echo '${JSON.stringify({ realm, enabled: true, users: [user] })}' |
        kcadm.sh create realms -f -`,
      ...commands,
    ].join("\n"));
    return {
      origin: this.origin,
      issuer: `${this.origin}/realms/${realm}`,
      clientId: "my-client",
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.#ended;
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #run(script: string): Promise<void> {
    const { success, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-euc", script],
      env: {
        HOME: this.#folder,
        PATH: `${join(this.#home, "bin")}:${Deno.env.get("PATH")}`,
      },
    }).output();
    const decoder = new TextDecoder();
    assert(success, decoder.decode(stdout) + decoder.decode(stderr));
  }
}
