// The page: what is running, what changed, what do we believe. It asks the interface that anybody
// can ask. Each view is a module that fills a place of its own:
//
//   export async function show(place, words) { …; return leave; }
//
// `words` is what follows the view's name in the address (`#/sandbox/calm-fern` has one), `leave`
// is called when the reader goes elsewhere.

import { Refused, ask } from "/assets/api.js";
import { h, tell } from "/assets/dom.js";
import { prose, sentence } from "/assets/words.js";

/** @typedef {{ show: (place: HTMLElement, words: string[]) => Promise<(() => void) | void> }} View */

/** @type {Record<string, { title: string, load: () => Promise<View> }>} The views by name. */
const views = {
  "": { title: "Sandboxes", load: () => import("/assets/dashboard.js") },
  sandbox: { title: "Sandbox", load: () => import("/assets/sandbox.js") },
  memory: { title: "Memory", load: () => import("/assets/memory.js") },
  experiments: { title: "Experiments", load: () => import("/assets/experiments.js") },
  populations: { title: "Populations", load: () => import("/assets/populations.js") },
  settings: { title: "Settings", load: () => import("/assets/settings.js") },
};

/** How soon to ask again for a view when nobody answered. */
const AWAY_MS = 2000;

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
/** @type {(() => void) | void} */
let leave;
let turn = 0;

/** Shows what the address names. */
async function route() {
  const mine = ++turn;
  leave?.();
  leave = undefined;
  tell("");
  const [name = "", ...words] = location.hash.split("/").slice(1).map(decodeURIComponent);
  const view = views[name] ?? views[""];
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.getAttribute("href") === (name === "sandbox" ? "#/" : `#/${name}`);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view.title} · agar`;
  // A place of its own: a slow answer for a view that was left must not show up in the next one.
  const place = h("div", { className: `view view-${name || "home"}` });
  main.replaceChildren(place);
  try {
    const left = await (await load(view)).show(place, words);
    if (mine === turn) leave = left;
    else left?.();
  } catch (error) {
    place.replaceChildren(trouble(error));
    // A server that is away may come back.
    const away = /** @type {any} */ (error).status === 0;
    if (away) setTimeout(() => { if (mine === turn) again(); }, AWAY_MS);
  }
}

let torn = false;

/**
 * Loads a view. A browser does not ask twice for a module that it could not get.
 * @param {{ load: () => Promise<View> }} view
 */
async function load(view) {
  try {
    return await view.load();
  } catch {
    torn = true;
    throw new Refused(0, { message: "The server does not answer." });
  }
}

/** Shows the view once more, with the whole page where a part of it is missing. */
async function again() {
  if (torn && await fetch("/healthz").then((answer) => answer.ok, () => false)) location.reload();
  else await route();
}

/** @param {any} error */
function trouble(error) {
  return h("section", { className: "card trouble", role: "alert" },
    h("h2", {}, error.status === 401 ? "This browser is not known here" : "That did not work"),
    h("p", {}, ...prose(sentence(error.message))),
    error.hint ? h("p", { className: "quiet" }, ...prose(error.hint)) : null,
    error.status === 404 ? h("p", { className: "quiet" }, "It may be gone for good, or the address is mistyped.") : null,
    h("div", { className: "line actions" }, h("button", { onclick: again }, "Try again"),
      error.status === 404 ? h("a", { className: "button", href: "#/" }, "Show all sandboxes") : null));
}

// The address names a view; a place within it is gone to without one.
document.querySelector(".skip")?.addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
addEventListener("hashchange", () => { main.focus(); route(); });
ask("/v1/projects").then((told) => {
  const here = told.projects.find((/** @type {any} */ project) => project.current);
  const where = document.getElementById("where");
  if (where) where.textContent = here ? here.path : "";
}).catch(() => {});
route();
