import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/components.css";
import "./styles/layout.css";
import { render } from "preact";
import { App } from "./app";
import { applyTheme } from "./ui/theme";

applyTheme();
const root = document.getElementById("app");
if (root) render(<App />, root);
