/** Starts the page. */
import "./style/style.css";
import { LoggedIn } from "./app/logged_in.tsx";
import { Shell } from "./app/shell.tsx";
import { render } from "./kit/framework.ts";
import { reportLogin } from "./pages/playground/login.ts";
import { watchStatus } from "./server/status.ts";

if (document.documentElement.dataset["app"] === "login") {
  const { LoginDemo } = await import("./pages/login/login_demo.tsx");
  render(<LoginDemo />, document.body);
} else if (location.pathname.endsWith("/callback")) {
  reportLogin();
  render(<LoggedIn />, document.body);
} else {
  watchStatus();
  // In a task of its own: evaluating the modules is one, too.
  setTimeout(() => render(<Shell />, document.body));
}
