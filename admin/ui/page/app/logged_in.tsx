import { Empty } from "../kit/layout.tsx";

/** The page to which an authorization server sends the browser back; the playground, in another tab, has the rest. */
export function LoggedIn() {
  return (
    <main>
      <h1 class="unseen">Login</h1>
      <Empty title="Back from the login" isPanel>
        The playground goes on in its tab. You can close this one.
      </Empty>
    </main>
  );
}
