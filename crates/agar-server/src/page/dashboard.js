// What is running.

import { ask } from "/assets/api.js";
import { h } from "/assets/dom.js";
import { inbox } from "/assets/inbox.js";
import { age, badge } from "/assets/words.js";

/** @param {HTMLElement} place */
export async function show(place) {
  const [list, waiting] = await Promise.all([ask("/v1/sandboxes?limit=200"), inbox()]);
  place.replaceChildren(
    waiting,
    h("h2", {}, "Sandboxes"),
    list.sandboxes.length === 0
      ? h("p", { className: "quiet" }, "No sandboxes yet. Try something above, or type `agar try -- COMMAND`.")
      : h("ul", { className: "cards" }, ...list.sandboxes.reverse().map(card)),
  );
}

/** @param {any} sandbox */
function card(sandbox) {
  return h("li", { className: "card" },
    h("div", { className: "line spread" },
      h("a", { href: `#/sandbox/${sandbox.id}` }, sandbox.alias),
      badge(sandbox.state),
      h("span", { className: "quiet" }, age(sandbox.touched_at))),
    h("div", { className: "line quiet" },
      h("span", {}, sandbox.note ?? sandbox.last_run?.command ?? "no command yet"),
      h("span", {}, sandbox.changed_files === null ? "" : `${sandbox.changed_files} changed`)));
}
