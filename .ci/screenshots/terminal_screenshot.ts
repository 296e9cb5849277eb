import { openPage } from "../../tests/harness/browser/browser.ts";
import { startStoryGateway } from "../../tests/harness/gateway/story_gateway.ts";
import {
  gatewayCommandLine,
  Terminal,
} from "../../tests/harness/process/terminal.ts";

const columns = 100;
const rows = 32;
/** Requests before the trace, which then shows the times of a gateway that has been running for a while. */
const WARM_UP_REQUESTS = 200;

/** Saves a picture of `gwctl proxy trace`, which shows a request that a rule denied. */
export async function saveTraceScreenshot(path: string): Promise<void> {
  await using opened = await openPage({ deviceScaleFactor: 1.5 });
  const { page } = opened;
  await page.setContent(terminalPage(await runTrace()));
  await page.locator("pre").screenshot({ path, omitBackground: true });
}

/** Returns the screen with escape sequences for colors. */
async function runTrace(): Promise<string> {
  await using story = await startStoryGateway();
  const authorization = `Bearer ${story.deniedToken}`;
  for (let count = 0; count < WARM_UP_REQUESTS; count++) {
    const url = `${story.gateway.origin}/mcp`;
    const response = await fetch(url, { headers: { authorization } });
    await response.body?.cancel();
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
  return await terminal.colours();
}

const style = `
body { margin: 0 }
pre {
  display: inline-block; margin: 0; padding: 14px; border: 1px solid #30363d; border-radius: 8px;
  background: #0d1117; color: #e6edf3; font: 14px/18px "DejaVu Sans Mono", monospace;
}
.sgr1 { font-weight: bold }
.sgr2 { opacity: 0.7 }
.sgr31 { color: #ff8a80 }
.sgr32 { color: #56d364 }
.sgr33 { color: #e3b341 }
.sgr7 { background: #e6edf3; color: #0d1117 }
.sgr7.sgr31 { background: #ff8a80 }
`;

// deno-lint-ignore no-control-regex -- "select graphic rendition" (ECMA-48)
const sgr = /\x1b\[([0-9;]*)m/;

/** Turns each attribute into a class, until the next reset. */
function terminalPage(screen: string): string {
  let attributes: readonly string[] = [];
  const spans = screen.trimEnd().split(sgr).map((part, index) => {
    if (index % 2 === 0) {
      const classes = attributes.map((attribute) => `sgr${attribute}`);
      return `<span class="${classes.join(" ")}">${escape(part)}</span>`;
    }
    for (const attribute of part.split(";")) {
      attributes = attribute === "" || attribute === "0"
        ? []
        : attribute === "39"
        ? attributes.filter((each) => !each.startsWith("3"))
        : [...attributes, attribute];
    }
    return "";
  });
  return `<!doctype html><style>${style}</style><pre>${spans.join("")}</pre>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
