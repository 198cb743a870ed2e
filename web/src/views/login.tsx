// The page of somebody who is not known yet.

import { useState } from "preact/hooks";
import { type LoginOptions, logIn } from "../api/session";
import { navigate } from "../router";

const NOTICES: Record<string, string> = {
  used: "This link was used before. Log in below, or restart for a new link.",
  denied: "The identity provider did not log you in.",
  expired: "The login took too long, or was started in another window. Try again.",
  failed: "The identity provider's answer was rejected. See the log of the hub for the cause.",
  unavailable: "The identity provider does not answer. Try again later, or use a token.",
};

export function Login({ options, onDone }: { options: LoginOptions; onDone(): void }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const outcome = new URLSearchParams(location.search).get("login") ?? "";
  const notice = NOTICES[outcome];
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    const message = await logIn(token);
    setBusy(false);
    setProblem(message);
    if (message) return;
    if (notice) navigate("/", { replace: true });
    onDone();
  };
  return (
    <main class="login">
      <form class="panel" onSubmit={(event) => void submit(event)}>
        <div class="row">
          <img src="/icon.svg" alt="" width="30" height="30" />
          <h1>Quarterdeck</h1>
        </div>
        {notice && <p class="notice warn">{notice}</p>}
        {options.issuer && (
          <>
            <a class="button primary" href={`/login/oidc?next=${encodeURIComponent(nextPath(outcome))}`}>
              Log in with {options.issuer}
            </a>
            <p class="faint">or with a token:</p>
          </>
        )}
        <div class="field">
          <label for="token">Bearer token</label>
          <input id="token" class="input" type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </div>
        {problem && (
          <p class="notice bad" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class={options.issuer ? "button" : "button primary"} disabled={!token || isBusy}>
          Log in
        </button>
        <p class="muted">
          {options.hint || "Use a token that the API server of this hub accepts, such as one of `kubectl create token`."} You see what this token may see.
        </p>
      </form>
    </main>
  );
}

/** The page to show after a login: the one that was asked for. */
function nextPath(outcome: string): string {
  return outcome ? "/" : location.pathname + location.search;
}
