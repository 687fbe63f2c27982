// Conflicts, settled hunk by hunk. Nothing is written until every one is.

import { Refused, ask } from "/assets/api.js";
import { patchView } from "/assets/diff.js";
import { h, tell } from "/assets/dom.js";
import { count } from "/assets/words.js";

/** @typedef {{ path: string, hunk: number, conflict: boolean, taken: () => boolean | null }} Choice */

/**
 * Asks for a side in each hunk that both changed.
 * @param {string} id The sandbox.
 * @param {{ applied: (told: any) => void, cancelled: () => void, failed: (error: any) => void }} then
 * @returns {Promise<any>}
 */
export async function settle(id, then) {
  const plan = () => ask(`/v1/sandboxes/${id}/promote`, { dry_run: true });
  const planned = await plan();
  const files = planned.files.filter((/** @type {any} */ file) => file.merge === "conflict");
  /** @type {Choice[]} */
  const choices = [];
  const left = h("p", { className: "quiet", role: "status" });
  const apply = h("button", { className: "primary", onclick: () => go() }, "Apply with these choices");
  const update = () => {
    const open = choices.filter((it) => it.taken() === null).length;
    apply.disabled = open > 0;
    left.textContent = open > 0 ? `${count(open, "choice")} left to make` : "Every choice is made.";
  };
  const go = async () => {
    /** @type {Record<string, number[]>} */
    const hunks = {};
    for (const { path, hunk, taken } of choices) {
      hunks[path] ??= [];
      if (taken()) hunks[path].push(hunk);
    }
    apply.disabled = true;
    try {
      // Hunks go by number: where main moved since, they may be others now, and it is refused.
      then.applied(await ask(`/v1/sandboxes/${id}/promote`, { hunks, plan: planned.plan, stop: true }));
    } catch (error) {
      try {
        if (!(error instanceof Refused && error.status === 409) || (await plan()).plan === planned.plan) throw error;
        tell("Main changed meanwhile. Nothing was written; choose again.");
        view.replaceWith(await settle(id, then));
      } catch (failed) { then.failed(failed); }
    }
  };
  const all = (/** @type {"mine" | "theirs"} */ side) => () => {
    for (const radio of view.querySelectorAll(`input[value=${side}]`)) /** @type {HTMLInputElement} */ (radio).checked = true;
    update();
  };
  const cards = files.map((/** @type {any} */ file, /** @type {number} */ index) => card(file, index, choices, update));
  const view = h("section", { className: "card conflicts", "aria-label": "Conflicts" },
    h("h3", {}, h("span", { "aria-hidden": "true" }, "⚠️ "), "You and the sandbox changed the same lines"),
    h("p", {}, "Nothing has been written. Choose a side for each place; everything else merges by itself."),
    h("div", { className: "line" },
      h("button", { onclick: all("mine") }, "Keep mine everywhere"),
      h("button", { onclick: all("theirs") }, "Take the sandbox's everywhere")),
    ...cards, left,
    h("div", { className: "line" }, apply, h("button", { onclick: then.cancelled }, "Not now")));
  update();
  return view;
}

/**
 * One file: its hunks in order, each with its two sides.
 * @param {any} file
 * @param {number} index
 * @param {Choice[]} choices
 * @param {() => void} update
 */
function card(file, index, choices, update) {
  const hunks = file.hunks.map((/** @type {any} */ hunk) => {
    const name = `hunk-${index}-${hunk.number}`;
    const radio = (/** @type {string} */ value, /** @type {string} */ word, /** @type {boolean} */ checked) => {
      const input = h("input", { type: "radio", name, value, checked, onchange: update });
      return { input, label: h("label", { className: "choice" }, input, ` ${word}`) };
    };
    const mine = radio("mine", "Keep mine", false);
    const theirs = radio("theirs", "Take the sandbox's", !hunk.conflict);
    choices.push({
      path: file.path, hunk: hunk.number, conflict: hunk.conflict,
      taken: () => (theirs.input.checked ? true : mine.input.checked ? false : null),
    });
    const title = hunk.conflict ? `Place ${hunk.number}: both changed it` : `Place ${hunk.number}: only the sandbox changed it`;
    return h("fieldset", { className: hunk.conflict ? "hunk clash" : "hunk" }, h("legend", {}, title),
      hunk.text ? patchView(hunk.text, `${file.path}, place ${hunk.number}: − mine, + the sandbox's`) : h("p", { className: "quiet" }, "It cannot be split: one side or the other."),
      h("div", { className: "line" }, mine.label, theirs.label));
  });
  return h("div", { className: "file" }, h("h4", {}, h("code", {}, file.path)),
    file.reason ? h("p", { className: "quiet" }, file.reason) : null, ...hunks);
}
