// The page of somebody who is not known yet.

import { useState } from "preact/hooks";
import { logIn } from "../api/session";
import { navigate } from "../router";

export function Login({ hint, onDone }: { hint: string; onDone(): void }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const wasUsed = new URLSearchParams(location.search).get("login") === "used";
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    const message = await logIn(token);
    setBusy(false);
    setProblem(message);
    if (message) return;
    if (wasUsed) navigate("/", { replace: true });
    onDone();
  };
  return (
    <main class="login">
      <form class="panel" onSubmit={(event) => void submit(event)}>
        <div class="row">
          <img src="/icon.svg" alt="" width="30" height="30" />
          <h1>Quarterdeck</h1>
        </div>
        {wasUsed && <p class="notice warn">This link was used before. Log in with a token, or restart for a new link.</p>}
        <div class="field">
          <label for="token">Bearer token</label>
          <input id="token" class="input" type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </div>
        {problem && (
          <p class="notice bad" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="button primary" disabled={!token || isBusy}>
          Log in
        </button>
        <p class="muted">
          {hint || "Use a token that the API server of this hub accepts, such as one of `kubectl create token`."} You see what this token may see.
        </p>
      </form>
    </main>
  );
}
