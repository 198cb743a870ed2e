// Where lists look: everywhere, or in one namespace.

import { useState } from "preact/hooks";
import { setScope, useScope } from "../store/scope";

export function ScopeField() {
  const scope = useScope();
  const [text, setText] = useState<string | null>(null);
  const apply = (event: Event) => {
    event.preventDefault();
    if (text !== null) setScope(text.trim());
    setText(null);
  };
  return (
    <form class="field" onSubmit={apply}>
      <label for="scope">Namespace</label>
      <input id="scope" class="input" placeholder="all" value={text ?? scope} onInput={(event) => setText(event.currentTarget.value)} onBlur={apply} />
    </form>
  );
}
