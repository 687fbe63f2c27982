// Pages of other origins: which of them may offer suggestions is the person's to say, here.

import { ask } from "/assets/api.js";
import { question } from "/assets/dialog.js";
import { h, tell } from "/assets/dom.js";

/** @typedef {{ origin: string, token: string }} Allowed */

/**
 * The line that a page needs: the script, where it asks, and its token.
 * @param {Allowed} allowed
 */
export function tag({ token }) {
  return `<script type="module" src="${location.origin}/assets/try-this-safely.js?token=${token}"></script>`;
}

/**
 * The origin of what somebody typed, which may be the whole address of a page.
 * @param {string} typed
 */
function originOf(typed) {
  const words = typed.trim();
  try {
    const { origin, protocol } = new URL(words.includes("://") ? words : `http://${words}`);
    return ["http:", "https:"].includes(protocol) ? origin : null;
  } catch { return null; }
}

/**
 * The list, and the way to allow one more.
 * @param {string} asking An origin that asks.
 */
export async function guests(asking) {
  const list = h("ul", { className: "rows guests" });
  const none = h("p", { className: "quiet" }, "No other page may offer anything yet.");
  const draw = async (/** @type {string} */ shown = "") => {
    const { origins } = await ask("/v1/origins");
    list.replaceChildren(...origins.map((/** @type {Allowed} */ it) => guest(it, it.origin === shown, draw)));
    list.hidden = origins.length === 0;
    none.hidden = origins.length > 0;
  };
  await draw();
  return h("section", { className: "card", "aria-label": "Other pages" },
    h("p", {}, "An editor or a chat in another page of this browser can have the button, too. It may put suggestions into your inbox and ask how likely they are to work. It runs nothing, and is told nothing else."),
    none, list, form(asking, draw));
}

/**
 * @param {string} asking
 * @param {(shown: string) => Promise<void>} draw
 */
function form(asking, draw) {
  const trouble = h("p", { className: "bad", role: "alert" });
  const field = h("input", { id: "origin", placeholder: "http://localhost:8000", value: asking, autocomplete: "off", spellcheck: false, required: true });
  return h("form", { className: "allow", noValidate: true, onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    trouble.textContent = "";
    const origin = originOf(field.value);
    if (!origin) {
      trouble.textContent = "That is not the address of a page: it begins with http:// or https://, and a file on disk has none.";
      field.focus();
      return;
    }
    try {
      await ask("/v1/origins", { origin });
      field.value = "";
      await draw(origin);
      tell(`Pages of ${origin} may offer suggestions now.`);
    } catch (error) {
      const { message, hint } = /** @type {any} */ (error);
      trouble.textContent = [message, hint].filter(Boolean).join(" ");
    }
  } },
  asking ? h("p", { className: "asks", role: "status" }, h("strong", {}, asking), " asks to be allowed. Only allow a page that you know.") : null,
  h("label", { htmlFor: "origin" }, "Address of the page"),
  h("div", { className: "line" }, field, h("button", { className: "primary" }, "Allow")), trouble);
}

/**
 * One that is allowed, with what its page needs.
 * @param {Allowed} allowed
 * @param {boolean} shown
 * @param {(shown?: string) => Promise<void>} draw
 */
function guest(allowed, shown, draw) {
  const line = h("pre", { tabIndex: 0, role: "region", "aria-label": `Script for ${allowed.origin}` }, tag(allowed));
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(tag(allowed));
      tell("Copied.");
    } catch {
      // A browser that does not let a page copy lets a person.
      getSelection()?.selectAllChildren(line);
      tell("Selected: copy it with the keyboard.");
    }
  };
  const remove = async () => {
    const done = await question({
      title: `Stop ${allowed.origin}?`,
      says: [h("p", {}, "Its pages can offer nothing from then on. What they have offered stays in the inbox.")],
      yes: "Remove", danger: true,
      go: () => ask(`/v1/origins?origin=${encodeURIComponent(allowed.origin)}`, undefined, "DELETE"),
    });
    if (!done) return;
    await draw();
    tell(`Pages of ${allowed.origin} may offer nothing any more.`);
    document.getElementById("origin")?.focus();
  };
  return h("li", {},
    h("div", { className: "line spread" }, h("code", { className: "name" }, allowed.origin),
      h("button", { className: "danger small", "aria-label": `Remove ${allowed.origin}`, onclick: remove }, "Remove")),
    h("details", { className: "where", open: shown }, h("summary", {}, "What its page needs"),
      h("p", { className: "quiet" }, "One line in the head, and the element where the button shall be. Whoever has the line can offer suggestions from a page of that address, so keep it out of public repositories."),
      line, h("p", {}, h("button", { className: "small", onclick: copy }, "Copy the line")),
      h("pre", {}, "<try-this-safely choices suggestion=\"Upgrade the linter\"\n  commands='[\"npm update eslint\", \"npm test\"]'></try-this-safely>")));
}
