// What waits for a person: a place to try something, and what agents and editors have offered.

import "/assets/try-this-safely.js";
import { ask } from "/assets/api.js";
import { pending, remember } from "/assets/checklist.js";
import { complain, h, tell } from "/assets/dom.js";
import { applyWhenDone, wished } from "/assets/wishes.js";
import { age } from "/assets/words.js";

const LOOK_AGAIN_MS = 3000;

/** The place to try something, and the suggestions that are open. */
export async function inbox() {
  const list = h("div", {});
  let drawn = "";
  const refresh = async () => {
    const told = await ask("/v1/suggestions?state=open&limit=50");
    const key = told.suggestions.map((/** @type {any} */ it) => it.id).join();
    // Only what changed is drawn again: whoever is in the list stays there.
    if (key === drawn && list.firstChild) return;
    drawn = key;
    list.replaceChildren(told.suggestions.length === 0 ? lesson()
      : h("ul", { className: "cards" }, ...told.suggestions.map((/** @type {any} */ it) => offered(it, refresh))));
  };
  await refresh();
  // What is offered while somebody looks appears by itself, until they look elsewhere.
  let seen = false;
  const timer = setInterval(() => {
    if (seen && !list.isConnected) clearInterval(timer);
    seen ||= list.isConnected;
    if (seen && list.isConnected && !document.hidden) refresh().catch(() => {});
  }, LOOK_AGAIN_MS);
  return h("div", { className: "inbox" }, composer(), h("section", { "aria-label": "Inbox" }, h("h2", { tabIndex: -1 }, "Inbox"), list));
}

/** What an empty inbox teaches. */
function lesson() {
  return h("div", { className: "card empty" },
    h("p", {}, "Nothing waits. An agent, an editor or a page that you allow in the ", h("a", { href: "#/settings" }, "settings"), " can offer a change here, and you try it before it touches anything:"),
    h("pre", {}, "TOKEN=$(cat \"${XDG_STATE_HOME:-$HOME/.local/state}/agar/serve/token\")\ncurl -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\\n  -d '{\"text\": \"Upgrade the linter\", \"commands\": [\"npm update eslint\", \"npm test\"]}' \\\n  " + `${location.origin}/v1/suggestions`));
}

/**
 * Goes to a sandbox that was just made.
 * @param {any} made
 */
function visit(made) {
  remember(made);
  location.hash = `#/sandbox/${made.id}`;
}

/** A way to show the set-up while it is under way. */
function working() {
  const place = h("div", {});
  return { place, on: () => place.replaceChildren(pending()), off: () => place.replaceChildren() };
}

function composer() {
  const text = h("textarea", { id: "suggestion", rows: 2, placeholder: "Upgrade every dependency", required: true });
  const lines = h("textarea", { id: "commands", rows: 3, className: "code", placeholder: "npm update\nnpm test", spellcheck: false });
  const work = working();
  const button = h("try-this-safely", {
    confidence: wished("hide-confidence") ? "hidden" : null,
    oncreating: work.on,
    onsandbox: (/** @type {CustomEvent} */ event) => visit(event.detail),
    onfailed: (/** @type {CustomEvent} */ event) => { work.off(); complain(event.detail); },
  });
  const update = () => {
    const wanted = lines.value.split("\n").filter((/** @type {string} */ line) => line.trim());
    button.setAttribute("commands", JSON.stringify(wanted));
    // Commands alone say what they are.
    button.setAttribute("suggestion", text.value.trim() || wanted.join(" && "));
  };
  text.addEventListener("change", update);
  lines.addEventListener("input", update);
  text.addEventListener("input", () => button.setAttribute("suggestion", text.value.trim()));
  return h("section", { className: "card composer", "aria-label": "Try something" },
    h("label", { htmlFor: "suggestion" }, "What do you want to try?"), text,
    h("label", { htmlFor: "commands" }, "Commands, one a line"), lines,
    h("p", { className: "quiet" }, "They run in a copy of your machine. Nothing outside changes until you apply it."),
    h("div", { className: "line actions" }, button), work.place);
}

/**
 * One suggestion and what can be done with it.
 * @param {any} suggestion
 * @param {() => Promise<void>} changed
 */
function offered(suggestion, changed) {
  const work = working();
  const runs = suggestion.commands.length > 0;
  const direct = async () => {
    work.on();
    try {
      const made = await ask(`/v1/suggestions/${suggestion.id}/try`, {});
      applyWhenDone(made.id);
      visit(made);
    } catch (error) { work.off(); complain(error); }
  };
  const reject = async () => {
    try {
      await ask(`/v1/suggestions/${suggestion.id}/reject`, {});
      tell("Rejected. Nothing was run.");
      await changed();
      // Its button is gone: the keyboard goes on where the list begins.
      /** @type {HTMLElement | null} */ (document.querySelector(".inbox h2"))?.focus();
    } catch (error) { complain(error); }
  };
  const note = `direct-${suggestion.id}`;
  return h("li", { className: "card suggestion" },
    h("div", { className: "line spread" }, h("strong", {}, suggestion.text),
      h("span", { className: "quiet" }, `from ${suggestion.agent} · ${age(suggestion.created_at)}`)),
    suggestion.context?.wish === "apply" ? h("p", { className: "quiet" }, "Meant to be applied directly.") : null,
    runs ? h("pre", { "aria-label": "Commands" }, suggestion.commands.join("\n")) : h("p", { className: "quiet" }, "Words only: the sandbox will wait for your commands."),
    h("div", { className: "line actions" },
      h("try-this-safely", {
        confidence: wished("hide-confidence") ? "hidden" : null,
        suggestion: suggestion.text, "suggestion-id": suggestion.id, oncreating: work.on,
        onsandbox: (/** @type {CustomEvent} */ event) => visit(event.detail),
        onfailed: (/** @type {CustomEvent} */ event) => { work.off(); complain(event.detail); },
      }),
      runs ? h("button", { onclick: direct, "aria-describedby": note }, "Apply Directly") : null,
      h("button", { onclick: reject }, "Reject")),
    runs ? h("p", { className: "quiet small", id: note }, "Apply Directly also runs in a sandbox first, and applies by itself if it succeeds and nothing stands in the way.") : null,
    work.place);
}
