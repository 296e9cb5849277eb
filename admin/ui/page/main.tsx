/** Starts the page. */
import { Shell } from "./app/shell.tsx";
import { render } from "./kit/framework.ts";
import { watchStatus } from "./server/status.ts";

watchStatus();
render(<Shell />, document.body);
