import { startStoryGateway } from "../harness/story_gateway.ts";
import { gatewayCommandLine, Terminal } from "../harness/terminal.ts";
import { terminalSvg } from "./terminal_svg.ts";

const columns = 100;
const rows = 32;

/** A real trace, of a request that a rule refuses, as the terminal UI shows it. */
export async function drawTrace(): Promise<string> {
  await using story = await startStoryGateway();
  // Times of a gateway that has been running for a while.
  for (let count = 0; count < 200; count++) {
    const authorization = `Bearer ${story.deniedToken}`;
    const url = `${story.gateway.origin}/mcp`;
    const answer = await fetch(url, { headers: { authorization } });
    await answer.body?.cancel();
  }
  await using terminal = await Terminal.open(columns, rows, {
    NO_COLOR: "",
    TOKEN: story.deniedToken,
  });
  const trace = ["ctl", "proxy", "trace", "--admin", story.admin, "--"];
  const command = gatewayCommandLine([...trace, "http://api.example.com/mcp"]);
  await terminal.run(
    `${command} -H "authorization: Bearer $TOKEN" --json '{}'`,
  );
  await terminal.waitFor(/complete · 403/);
  return terminalSvg(
    await terminal.colours(),
    columns,
    "gwctl proxy trace shows a request step by step; it was refused with 403, and the rule that refused it is selected",
  );
}
