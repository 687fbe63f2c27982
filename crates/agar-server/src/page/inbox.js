// What waits for a person: a place to try something, and what agents and editors have offered.

import "/assets/try-this-safely.js";
import { ask } from "/assets/api.js";
import { h, tell } from "/assets/dom.js";
import { age } from "/assets/words.js";

/** The place to try something, and the suggestions that are open. */
export async function inbox() {
  const place = h("div", {}, composer());
  const list = h("div", {});
  place.append(h("h2", {}, "Inbox"), list);
  const refresh = async () => {
    const told = await ask("/v1/suggestions?state=open&limit=50");
    list.replaceChildren(told.suggestions.length === 0
      ? h("p", { className: "quiet" }, "Nothing waits. An agent or an editor can offer changes with POST /v1/suggestions.")
      : h("ul", { className: "cards" }, ...told.suggestions.map((/** @type {any} */ it) => offered(it, refresh))));
  };
  await refresh();
  return place;
}

/** Goes to a sandbox. @param {string} id */
function visit(id) { location.hash = `#/sandbox/${id}`; }

function composer() {
  const text = h("textarea", { id: "suggestion", rows: 2, placeholder: "Upgrade every dependency" });
  const lines = h("textarea", { id: "commands", rows: 3, className: "code", placeholder: "npm update\nnpm test", spellcheck: false });
  const button = h("try-this-safely", {
    onsandbox: (/** @type {CustomEvent} */ event) => visit(event.detail.id),
    onfailed: (/** @type {CustomEvent} */ event) => tell(event.detail.message),
  });
  const update = () => {
    button.setAttribute("commands", JSON.stringify(lines.value.split("\n").filter((/** @type {string} */ line) => line.trim())));
    button.setAttribute("suggestion", text.value.trim());
  };
  text.addEventListener("change", update);
  lines.addEventListener("input", update);
  return h("section", { className: "card", "aria-label": "Try something" },
    h("label", { htmlFor: "suggestion" }, "What do you want to try?"), text,
    h("label", { htmlFor: "commands" }, "Commands, one a line"), lines,
    h("p", { className: "quiet" }, "They run in a copy of your machine. Nothing outside changes until you apply it."),
    button);
}

/**
 * One suggestion and what can be done with it.
 * @param {any} suggestion
 * @param {() => Promise<void>} changed
 */
function offered(suggestion, changed) {
  const act = (/** @type {string} */ verb, /** @type {(told: any) => void} */ then) => async () => {
    try {
      then(await ask(`/v1/suggestions/${suggestion.id}/${verb}`, {}));
    } catch (error) { tell(/** @type {Error} */ (error).message); }
  };
  return h("li", { className: "card" },
    h("div", { className: "line spread" }, h("strong", {}, suggestion.text),
      h("span", { className: "quiet" }, `${suggestion.agent} · ${age(suggestion.created_at)}`)),
    suggestion.commands.length > 0 ? h("pre", {}, suggestion.commands.join("\n")) : null,
    h("div", { className: "line" },
      h("button", { className: "primary", onclick: act("try", (sandbox) => visit(sandbox.id)) }, "🧪 Try This Safely"),
      h("button", { onclick: act("reject", () => { tell("Rejected."); changed(); }) }, "Reject")));
}
