import type {
  AccessKind,
  ChangeOptions,
  FieldOptions,
  ListOptions,
} from "../ctl/access/access.ts";
import type { ImportKeysOptions } from "../ctl/access/import_keys.ts";
import type { AccountOptions } from "../ctl/logins/accounts.ts";
import type { GrantOptions } from "../ctl/logins/grants.ts";
import type { TableOptions } from "../output/print_as.ts";
import { withAdminOptions } from "./admin_options.ts";
import {
  type Call,
  collect,
  type Command,
  formatOption,
  Option,
  wholeNumber,
} from "./command.ts";
import { examplesOf } from "./help.ts";

const kinds: readonly AccessKind[] = ["key", "user", "team"];

function load() {
  return import("../ctl/access/access.ts");
}

/** Adds `keys`, `users` and `teams`: the objects in the store of `config.kv`. */
export function addAccessCommands(
  program: Command,
  name: string,
  call: Call,
): void {
  for (const kind of kinds) {
    const command = program.command(`${kind}s`)
      .description(`Create, list and change ${kind}s in the store`)
      .addHelpText("after", examplesOf("access", name));
    addReading(command, kind);
    addWriting(command, kind);
    addActions(command, kind);
    if (kind === "key") addImport(command, call);
  }
}

function addImport(parent: Command, { finish }: Call): void {
  withAdminOptions(parent.command("import"))
    .description("Create the keys, users and teams of a table of LiteLLM")
    .argument("<file>", "JSON or CSV, or - for standard input")
    .option("--dry-run", "only print what would be created")
    .action(async (file: string, options: ImportKeysOptions) => {
      const { importKeys } = await import("../ctl/access/import_keys.ts");
      finish(await importKeys(file, options));
    });
}

/** Adds `accounts`: what users have connected at services. */
export function addAccountCommands(program: Command, name: string): void {
  const accounts = program.command("accounts")
    .description("List and revoke the accounts that users have connected")
    .addHelpText("after", examplesOf("accounts", name));
  withAdminOptions(accounts.command("list"))
    .description("List the accounts that users have connected")
    .option("--backend <key>", "only those of this backend")
    .option("--subject <sub>", "only those of users with this subject")
    .option("--issuer <url>", "only those of users of this issuer")
    .option("--after <id>", "only those with an ID after this one")
    .addOption(limitOption())
    .addOption(formatOption("table", "yaml", "json"))
    .action(async (options: AccountOptions) =>
      (await import("../ctl/logins/accounts.ts")).listAccounts(options)
    );
  withAdminOptions(accounts.command("revoke"))
    .description("Disconnect an account: its user has to log in again")
    .argument("<id>", "ID of the connection")
    .addOption(formatOption("table", "yaml", "json"))
    .action(async (id: string, options: TableOptions) =>
      (await import("../ctl/logins/accounts.ts")).revokeAccount(id, options)
    );
}

/** Adds `grants`: MCP clients that users have logged in at the gateway. */
export function addGrantCommands(program: Command, name: string): void {
  const grants = program.command("grants")
    .description("List and revoke the MCP clients that users have logged in")
    .addHelpText("after", examplesOf("grants", name));
  addGrantSelection(withAdminOptions(grants.command("list")))
    .description("List the MCP clients that users have logged in")
    .addOption(limitOption())
    .addOption(formatOption("table", "yaml", "json"))
    .action(async (options: GrantOptions & { readonly limit: number }) =>
      (await import("../ctl/logins/grants.ts")).listGrants(options)
    );
  addGrantSelection(withAdminOptions(grants.command("revoke")))
    .description(
      "Log out MCP clients: their tokens are rejected within 5 seconds",
    )
    .argument(
      "[id]",
      "ID of the grant; without one, all that the options select",
    )
    .addOption(formatOption("table", "yaml", "json"))
    .action(async (id: string | undefined, options: GrantOptions) =>
      (await import("../ctl/logins/grants.ts")).revokeGrants(id, options)
    );
}

function addGrantSelection(command: Command): Command {
  return command
    .option("--user <sub>", "only those of users with this subject")
    .option("--issuer <url>", "only those of users of this issuer")
    .option("--client <name>", "only those of clients with this name or URL")
    .option("--resource <url>", "only those for this MCP server");
}

function limitOption(): Option {
  return new Option("--limit <n>", "maximum number").default(100)
    .argParser(wholeNumber(1, 1000));
}

function addReading(parent: Command, kind: AccessKind): void {
  const list = withAdminOptions(parent.command("list"))
    .description(`List ${kind}s`)
    .option("--after <id>", "only those with an ID after this one")
    .addOption(limitOption())
    .addOption(
      new Option("--status <status>", "only those with this status")
        .choices(["active", "suspended", "revoked", "expired"]),
    );
  addOwners(list, kind).addOption(formatOption("table", "yaml", "json")).action(
    async (options: ListOptions) => (await load()).listObjects(kind, options),
  );
  withAdminOptions(parent.command("show"))
    .description(`Show a ${kind}`)
    .argument("<id>", `ID of the ${kind}`)
    .addOption(formatOption("yaml", "json"))
    .action(async (id: string, options: ChangeOptions) =>
      (await load()).showObject(kind, id, options)
    );
}

function addWriting(parent: Command, kind: AccessKind): void {
  const create = withAdminOptions(parent.command("create"))
    .description(
      kind === "key"
        ? "Create a key, and print it: nobody can read it again"
        : `Create a ${kind}`,
    )
    .argument(kind === "key" ? "[id]" : "<id>", `ID of the new ${kind}`);
  addFields(create, kind).addOption(formatOption("table", "yaml", "json"))
    .action(async (
      id: string | undefined,
      options: FieldOptions & TableOptions,
    ) => (await load()).createObject(kind, id, options));
  const update = withAdminOptions(parent.command("update"))
    .description(`Change the fields of a ${kind} that are given`)
    .argument("<id>", `ID of the ${kind}`);
  addFields(update, kind).addOption(formatOption("table", "yaml", "json"))
    .action(async (id: string, options: FieldOptions & TableOptions) =>
      (await load()).updateObject(kind, id, options)
    );
}

function addActions(parent: Command, kind: AccessKind): void {
  const texts = {
    suspend: `Reject requests of a ${kind} until it is resumed`,
    resume: `Accept requests of a suspended ${kind} again`,
    revoke: `Reject requests of a ${kind} for good`,
  };
  const add = (action: string, description: string) =>
    withAdminOptions(parent.command(action))
      .description(description)
      .argument("<id>", `ID of the ${kind}`)
      .addOption(formatOption("table", "yaml", "json"))
      .action(async (id: string, options: ChangeOptions) =>
        (await load()).changeObject(kind, id, { ...options, action })
      );
  for (const [action, description] of Object.entries(texts)) {
    add(action, description);
  }
  if (kind !== "key") return;
  add("rotate", "Replace a key, and print the new one").option(
    "--overlap <time>",
    "time for which the old key stays valid, such as 24h; 0s ends it at once",
    "0s",
  );
}

function addOwners(command: Command, kind: AccessKind): Command {
  if (kind !== "team") command.option("--team <id>", "its team");
  if (kind === "key") command.option("--user <id>", "its user");
  return command;
}

function addFields(command: Command, kind: AccessKind): Command {
  addOwners(command, kind)
    .option("--name <name>", "name for people")
    .addOption(
      repeated(
        "--model <name>",
        "model that it may use; gpt-* for all that begin so",
      ),
    )
    .addOption(repeated("--tool <name>", "MCP tool that it may call"))
    .addOption(repeated("--mcp-server <name>", "MCP server that it may use"))
    .addOption(repeated("--route <name>", "route that it may use"))
    .addOption(repeated("--address <range>", "address of its clients"))
    .addOption(
      repeated(
        "--budget <amount/window>",
        "budget such as 50usd/month, 1000000tokens/day or 100requests/minute; an update replaces all budgets",
      ),
    )
    .option(
      "--notify-at <percentages>",
      "notify when so much of a budget is used",
    )
    .addOption(repeated("--metadata <name=value>", "metadata for expressions"));
  if (kind === "team") addSelfService(command);
  if (kind === "key") {
    command.option(
      "--expires <time>",
      "time to live such as 90d, or an RFC 3339 time",
    );
  }
  return command;
}

/** Adds what users may do at `/self`. */
function addSelfService(command: Command): void {
  command
    .addOption(
      new Option(
        "--self-service-keys <n>",
        "keys that each of its users may make at /self; 0 for none",
      ).argParser(wholeNumber(0, 100)),
    )
    .option(
      "--self-service-lifetime <time>",
      "longest lifetime of such a key, such as 720h, which is the default",
    )
    .addOption(
      repeated(
        "--self-service-budget <amount/window>",
        "budget of each user over these keys",
      ),
    );
}

function repeated(flags: string, description: string): Option {
  return new Option(flags, `${description} (repeatable)`).argParser(collect);
}
