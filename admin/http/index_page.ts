import { respond } from "./admin_responses.ts";
import { allowedMethods, type Endpoint } from "./router.ts";

/** Renders a self-contained page that lists the endpoints. */
export function indexPage(endpoints: readonly Endpoint[]): Response {
  const rows = endpoints.map((endpoint) => {
    const { path, methods } = endpoint;
    const name = methods.GET === undefined || path.endsWith("*")
      ? path
      : `<a href="${path}">${path}</a>`;
    return `<tr><td>${name}</td><td>${allowedMethods(endpoint)}</td><td>${
      purposeOf(endpoint)
    }</td></tr>`;
  });
  return respond(
    200,
    "text/html; charset=utf-8",
    `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Gateway admin</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color-scheme: light dark }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8884; padding: .4rem .8rem .4rem 0; text-align: left; vertical-align: top }
</style>
<h1>Gateway admin</h1>
<table>
<thead><tr><th>Path</th><th>Methods</th><th>Purpose</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
</html>
`,
  );
}

/** Describes each method with its parameters: `Log level <code>?level</code>`. All strings are constants and need no escaping. */
function purposeOf({ texts = {} }: Endpoint): string {
  const purposes = Object.values(texts).map(({ summary, parameters = [] }) =>
    [summary, ...parameters.map(({ name }) => `<code>?${name}</code>`)].join(
      " ",
    )
  );
  return [...new Set(purposes)].join("<br>");
}
