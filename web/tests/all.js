import "./diff.js";
import "./discovery.js";
import "./yaml.js";
