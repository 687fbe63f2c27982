// A question before something is done. The browser's own dialog keeps the keyboard inside and gives
// it back; Escape means no.

import { h } from "/assets/dom.js";

/**
 * Shows something until it is closed.
 * @param {string} title
 * @param {...(import("/assets/dom.js").Child)} children
 * @returns {{ closed: Promise<string>, close: (word: string) => void }}
 */
export function open(title, ...children) {
  const heading = h("h2", { id: "dialog-title" }, title);
  const dialog = h("dialog", { className: "dialog", "aria-labelledby": "dialog-title" }, heading, ...children);
  document.body.append(dialog);
  const closed = new Promise((resolve) => {
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue); });
  });
  dialog.showModal();
  return { closed, close: (word) => dialog.close(word) };
}

/**
 * Asks; what is done on yes may refuse, and then says why and stays.
 * @param {{ title: string, says: (import("/assets/dom.js").Child)[], yes: string, danger?: boolean, go: () => Promise<void> }} question
 * @returns {Promise<boolean>} Whether it was done.
 */
export async function question({ title, says, yes, danger = false, go }) {
  const trouble = h("p", { className: "bad", role: "alert" });
  const no = h("button", { type: "button", onclick: () => shown.close("no") }, "Cancel");
  const sure = h("button", { className: danger ? "danger" : "primary" }, yes);
  const form = h("form", { onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    sure.disabled = true;
    trouble.textContent = "";
    try {
      await go();
      shown.close("yes");
    } catch (error) {
      const { message, hint } = /** @type {any} */ (error);
      trouble.textContent = [message, hint].filter(Boolean).join(" ");
      sure.disabled = false;
    }
  } }, ...says, trouble, h("div", { className: "line actions" }, sure, no));
  const shown = open(title, form);
  if (danger) no.focus();
  return await shown.closed === "yes";
}
