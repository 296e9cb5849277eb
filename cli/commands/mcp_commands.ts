import { type Call, type Command, Option } from "./command.ts";
import type { DoctorOptions } from "../mcp/doctor.ts";
import type { ToolOptions } from "../mcp/use_tools.ts";
import type { ApproveOptions } from "../ctl/tools/approve_tools.ts";
import type { LockOptions } from "../ctl/tools/lock_tools.ts";
import { withAdminOptions } from "./admin_options.ts";
import { addView } from "./diagnostics_commands.ts";
import * as help from "./help.ts";

/** Adds `mcp`, about any MCP server, and about those behind a running gateway. */
export function addMcpCommands(
  program: Command,
  name: string,
  call: Call,
): void {
  const mcp = program.command("mcp").description(
    "Examine and use an MCP server as a client",
  );
  addView(mcp, "mcp", name, "servers");
  addLockCommand(mcp, name, call);
  addApproveCommand(mcp, name, call);
  mcp.command("doctor")
    .description("Check each step of a login, and which clients get in")
    .argument("<url>", "MCP server, such as https://mcp.example.com/mcp")
    .option("--login", "log in with the browser, and call a tool")
    .addOption(clientIdOption())
    .option("--json", "print JSON")
    .addHelpText("after", help.examplesOf("doctor", name))
    .action(async (url: string, options: DoctorOptions) => {
      const { diagnoseLogin } = await import("../mcp/doctor.ts");
      await diagnoseLogin(url, options);
    });
  mcp.command("tools")
    .description("List the tools that you may call; logs in when needed")
    .argument("<url>", "MCP server")
    .addOption(clientIdOption())
    .addOption(apiKeyOption())
    .option("--json", "print JSON")
    .action(async (url: string, options: ToolOptions) => {
      const { listTools } = await import("../mcp/use_tools.ts");
      await listTools(url, options);
    });
  mcp.command("call")
    .description("Call a tool and print its result")
    .argument("<url>", "MCP server")
    .argument("<tool>", "name of the tool")
    .argument("[arguments]", "JSON object with its arguments")
    .addOption(clientIdOption())
    .addOption(apiKeyOption())
    .action(
      async (
        url: string,
        tool: string,
        argument: string | undefined,
        options: ToolOptions,
      ) => {
        const { callTool } = await import("../mcp/use_tools.ts");
        await callTool(url, tool, argument, options);
      },
    );
}

function addLockCommand(mcp: Command, name: string, call: Call): void {
  withAdminOptions(mcp.command("lock"))
    .description("Show tools that wait for approval, and approve all")
    .option("--backend <key>", "backend, if several have MCP servers")
    .option("--write <file>", "write the lock file: approves all tools")
    .addHelpText("after", help.examplesOf("lock", name))
    .action(async (options: LockOptions) => {
      const { lockTools } = await import("../ctl/tools/lock_tools.ts");
      call.finish(await lockTools(options));
    });
}

function addApproveCommand(mcp: Command, name: string, call: Call): void {
  withAdminOptions(mcp.command("approve"))
    .description("Approve tools that wait, where a backend has `lock.trust`")
    .argument("<server>", "name of the MCP server")
    .argument("[tools...]", "its own names of tools; default: all that wait")
    .option("--backend <key>", "backend, if several have MCP servers")
    .option("--yes", "do not ask")
    .option("--revoke", "take the tools from clients until they are approved")
    .addHelpText("after", help.examplesOf("approve", name))
    .action(
      async (
        server: string,
        tools: readonly string[],
        options: ApproveOptions,
      ) => {
        const { approveTools, revokeTools } = await import(
          "../ctl/tools/approve_tools.ts"
        );
        const change = options.revoke ? revokeTools : approveTools;
        call.finish(await change(server, tools, options));
      },
    );
}

function apiKeyOption(): Option {
  return new Option(
    "--api-key-env <name>",
    "environment variable with an API key, in place of a login",
  );
}

function clientIdOption(): Option {
  return new Option(
    "--client-id <id>",
    "client that the provider knows; without one, gwctl registers",
  );
}
