// The frame around every view: navigation, search, connection, identity.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { setLoggedOutHandler } from "./api/http";
import { type LoginOptions, type Session, loadSession, logOut } from "./api/session";
import { type Connection, stream } from "./api/stream";
import { usePlace } from "./router";
import { getScope, setScope } from "./store/scope";
import { Badge, Empty } from "./ui/basics";
import { Icon } from "./ui/icons";
import { KeyHelp, useKeys } from "./ui/keys";
import { Palette } from "./ui/palette";
import { ScopeField } from "./ui/scope";
import { toggleTheme } from "./ui/theme";
import { ApplicationsView } from "./views/applications";
import { ClusterView } from "./views/cluster";
import { ClustersView } from "./views/clusters";
import { ExperimentsView } from "./views/experiments";
import { Login } from "./views/login";
import { MachinesView } from "./views/machines";
import { ObjectView } from "./views/object";
import { ObjectsView } from "./views/objects";
import { Overview } from "./views/overview";
import { PipelinesView } from "./views/pipelines";

export const PAGES: { path: string; label: string; icon: string; key: string }[] = [
  { path: "/", label: "Overview", icon: "overview", key: "h" },
  { path: "/clusters", label: "Clusters", icon: "clusters", key: "c" },
  { path: "/applications", label: "Applications", icon: "applications", key: "a" },
  { path: "/pipelines", label: "Pipelines", icon: "pipelines", key: "p" },
  { path: "/machines", label: "Machines", icon: "machines", key: "m" },
  { path: "/experiments", label: "Experiments", icon: "experiments", key: "e" },
  { path: "/objects", label: "Objects", icon: "objects", key: "o" },
];

export function App() {
  const [session, setSession] = useState<Session | null | undefined>(undefined);
  const [options, setOptions] = useState<LoginOptions>({ hint: "", issuer: "" });
  const load = () =>
    loadSession().then(
      (found) => {
        if ("username" in found) return setSession(found);
        setOptions(found);
        setSession(null);
      },
      () => setTimeout(load, 1000),
    );
  useEffect(() => {
    setLoggedOutHandler(() => void load());
    void load();
  }, []);
  useEffect(() => {
    // a service account that was never told where to look looks in its own namespace
    const own = /^system:serviceaccount:([^:]+):/.exec(session?.username ?? "")?.[1];
    if (own && !getScope()) setScope(own);
  }, [session?.username]);
  if (session === undefined) return <main class="login muted">Connecting…</main>;
  if (session === null) return <Login options={options} onDone={() => void load()} />;
  return <Shell session={session} />;
}

function Shell({ session }: { session: Session }) {
  const place = usePlace();
  const [isSearching, setSearching] = useState(false);
  const [isHelping, setHelping] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const connection = useConnection();
  useKeys(PAGES, { onSearch: () => setSearching(true), onHelp: () => setHelping(true) });
  useEffect(() => stream.onHub(() => {}), []); // a page without lists is connected too
  useEffect(() => setMenuOpen(false), [place.path]);
  useEffect(() => {
    const page = PAGES.find((each) => each.path !== "/" && place.path.startsWith(each.path));
    const name = page && place.parts.length === 1 ? "" : place.parts.at(-1);
    document.title = [name, page?.label, "Quarterdeck"].filter(Boolean).join(" · ");
  }, [place.path]);
  return (
    <div class="shell" data-menu={isMenuOpen ? "open" : "closed"}>
      <aside class="sidebar">
        <a class="brand" href="/">
          <img src="/icon.svg" alt="" />
          Quarterdeck
        </a>
        <nav class="nav" aria-label="Views">
          {PAGES.map((page) => (
            <a key={page.path} href={page.path} aria-current={isCurrent(page.path, place.path) ? "page" : undefined} title={`g ${page.key}`}>
              <Icon name={page.icon} />
              {page.label}
            </a>
          ))}
        </nav>
        <div class="sidebar-foot">
          <ScopeField />
          <div>
            <div class="faint">Signed in as</div>
            <div class="truncate" title={session.groups.join(", ")}>
              {session.username}
            </div>
          </div>
          {session.canLogOut && (
            <button type="button" class="button small" onClick={() => void logOut()}>
              Log out
            </button>
          )}
        </div>
      </aside>
      <div>
        <header class="topbar">
          <button type="button" class="icon-button menu-button" aria-label="Menu" aria-expanded={isMenuOpen} onClick={() => setMenuOpen(!isMenuOpen)}>
            <Icon name="menu" />
          </button>
          <button type="button" class="searchbox" onClick={() => setSearching(true)}>
            <Icon name="search" />
            <span>Search everything</span>
            <kbd>/</kbd>
          </button>
          <span class="grow" />
          <ConnectionMark state={connection} />
          <button type="button" class="icon-button wide" aria-label="Keyboard shortcuts" onClick={() => setHelping(true)}>
            ?
          </button>
          <button type="button" class="icon-button" aria-label="Dark or light" onClick={toggleTheme}>
            <Icon name="sun" />
          </button>
        </header>
        {connection === "lost" && (
          <div class="banner" role="status">
            Connection lost. What you see may be old; reconnecting…
          </div>
        )}
        <main class="content" onClick={() => isMenuOpen && setMenuOpen(false)}>
          <View />
        </main>
      </div>
      {isSearching && <Palette pages={PAGES} onClose={() => setSearching(false)} />}
      {isHelping && <KeyHelp pages={PAGES} onClose={() => setHelping(false)} />}
    </div>
  );
}

function View() {
  const { parts } = usePlace();
  const [first, second, third] = parts;
  switch (first) {
    case undefined:
      return <Overview />;
    case "clusters":
      return second ? <ClusterView key={second} name={second} /> : <ClustersView />;
    case "applications":
      return <ApplicationsView namespace={second} name={third} />;
    case "pipelines":
      return <PipelinesView namespace={second} name={third} />;
    case "machines":
      return <MachinesView parts={parts.slice(1)} />;
    case "experiments":
      return <ExperimentsView namespace={second} name={third} />;
    case "objects":
      return parts.length >= 6 ? <ObjectView key={parts.slice(1, 6).join("/")} parts={parts.slice(1)} /> : <ObjectsView parts={parts.slice(1)} />;
    default:
      return <Empty title="Page not found">Use the navigation, or press / to search.</Empty>;
  }
}

function isCurrent(page: string, path: string): boolean {
  return page === "/" ? path === "/" : path === page || path.startsWith(`${page}/`);
}

/** The state of the connection. It subscribes before the first paint, so that no change of it is missed. */
function useConnection(): Connection {
  const [state, setState] = useState(stream.state);
  useLayoutEffect(() => stream.onState(setState), []);
  return state;
}

function ConnectionMark({ state }: { state: Connection }) {
  const marks = {
    live: ["ok", "Live"],
    connecting: ["busy", "Connecting"],
    lost: ["bad", "Reconnecting"],
    paused: ["idle", "Paused"],
  } as const;
  const [level, text] = marks[state];
  return (
    <span class="connection" data-connection={state}>
      <Badge level={level}>{text}</Badge>
    </span>
  );
}
