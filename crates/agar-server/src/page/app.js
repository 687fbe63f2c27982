// The page: what is running, what changed, what do we believe. It asks the interface that anybody
// can ask. Each view is a module that fills a place of its own:
//
//   export async function show(place, words) { …; return leave; }
//
// `words` is what follows the view's name in the address (`#/sandbox/calm-fern` has one), `leave`
// is called when the reader goes elsewhere.

import { ask } from "/assets/api.js";
import { h, tell } from "/assets/dom.js";
import { prose } from "/assets/words.js";

/** @typedef {{ show: (place: HTMLElement, words: string[]) => Promise<(() => void) | void> }} View */

/** @type {Record<string, { title: string, load: () => Promise<View> }>} The views by name. */
const views = {
  "": { title: "Sandboxes", load: () => import("/assets/dashboard.js") },
  sandbox: { title: "Sandbox", load: () => import("/assets/sandbox.js") },
  memory: { title: "Memory", load: () => import("/assets/memory.js") },
};

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
    const here = link.getAttribute("href") === `#/${name}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view.title} · agar`;
  // A place of its own: a slow answer for a view that was left must not show up in the next one.
  const place = h("div", { className: `view view-${name || "home"}` });
  main.replaceChildren(place);
  try {
    const left = await (await view.load()).show(place, words);
    if (mine === turn) leave = left;
    else left?.();
  } catch (error) {
    place.replaceChildren(trouble(error));
  }
}

/** @param {any} error */
function trouble(error) {
  return h("section", { className: "card trouble", role: "alert" },
    h("h2", {}, error.status === 401 ? "This browser is not known here" : "That did not work"),
    h("p", {}, error.message),
    error.hint ? h("p", { className: "quiet" }, ...prose(error.hint)) : null,
    h("p", {}, h("button", { onclick: route }, "Try again")));
}

addEventListener("hashchange", () => { main.focus(); route(); });
ask("/v1/projects").then((told) => {
  const here = told.projects.find((/** @type {any} */ project) => project.current);
  const where = document.getElementById("where");
  if (where) where.textContent = here ? here.path : "";
}).catch(() => {});
route();
