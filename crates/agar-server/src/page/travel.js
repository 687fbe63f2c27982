// Snapshots, forks, and who came from whom, from the list of sandboxes.

import { ask } from "/assets/api.js";
import { open, question } from "/assets/dialog.js";
import { h, tell } from "/assets/dom.js";
import { age, badge, count, standing } from "/assets/words.js";

/** @typedef {{ id: string, alias: string, state: string }} Named */

/** @param {Named} sandbox */
const at = (sandbox) => `/v1/sandboxes/${encodeURIComponent(sandbox.id)}`;

/**
 * @param {Named} sandbox
 * @returns {Promise<boolean>} Whether one was taken.
 */
export function snapshot(sandbox) {
  const name = h("input", { id: "snapshot-name", placeholder: "before-the-upgrade", pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*", maxLength: 60 });
  return question({
    title: `Snapshot of ${sandbox.alias}`,
    says: [h("p", { className: "quiet" }, "Keeps its files as they are now. You can return to it, or fork from it."),
      h("label", { htmlFor: "snapshot-name" }, "Name (a number is given if left empty)"), name],
    yes: "Take snapshot",
    go: async () => {
      const told = await ask(`${at(sandbox)}/snapshots`, name.value.trim() ? { name: name.value.trim() } : {});
      tell(`Snapshot ${told.snapshot.reference} taken.`);
    },
  });
}

/**
 * @param {Named} sandbox
 * @returns {Promise<boolean>} Whether forks were made.
 */
export async function fork(sandbox) {
  const known = await ask(`${at(sandbox)}/snapshots`);
  const number = h("input", { id: "fork-count", type: "number", min: 1, max: 20, value: 1, required: true });
  const from = h("select", { id: "fork-from" }, h("option", { value: "" }, "as it is now"),
    ...known.snapshots.map((/** @type {any} */ it) => h("option", { value: it.name }, `${it.name} · ${age(it.created_at)}`)));
  return question({
    title: `Fork ${sandbox.alias}`,
    says: [h("p", { className: "quiet" }, "A fork begins with the same files and then goes its own way. The original stays as it is."),
      h("label", { htmlFor: "fork-from" }, "Begin with"), from,
      h("label", { htmlFor: "fork-count" }, "How many"), number],
    yes: "Fork",
    go: async () => {
      const told = await ask(`${at(sandbox)}/fork`, { count: Number(number.value), ...(from.value ? { snapshot: from.value } : {}) });
      tell(`Forked: ${told.forks.map((/** @type {any} */ it) => it.alias).join(", ")}.`);
    },
  });
}

/**
 * Gives sandboxes up, one after the other, and says how far it is.
 * @param {Named[]} sandboxes
 */
export function discard(sandboxes) {
  const alive = sandboxes.filter((it) => ["creating", "running", "paused"].includes(it.state)).length;
  const progress = h("progress", { max: sandboxes.length, value: 0, hidden: true, "aria-label": "Discarded so far" });
  /** @type {Set<string>} */
  const done = new Set();
  return question({
    title: sandboxes.length === 1 ? `Discard ${sandboxes[0].alias}?` : `Discard ${sandboxes.length} sandboxes?`,
    says: [
      sandboxes.length === 1 ? null : h("p", { className: "names" }, sandboxes.slice(0, 12).map((it) => it.alias).join(", ")
        + (sandboxes.length > 12 ? ` and ${sandboxes.length - 12} more` : "")),
      alive > 0 ? h("p", { className: "warn" }, `${count(alive, "sandbox is", "sandboxes are")} still alive; what runs there is ended.`) : null,
      h("p", { className: "quiet" }, "Main is not touched. Changes that were never applied can be had back for a week: ",
        h("code", {}, "agar restore --trash NAME"), "."),
      progress],
    yes: "Discard", danger: true,
    go: async () => {
      progress.hidden = sandboxes.length < 2;
      for (const sandbox of sandboxes.filter((it) => !done.has(it.id))) {
        await ask(`${at(sandbox)}?force=true`, undefined, "DELETE");
        done.add(sandbox.id);
        progress.value = done.size;
      }
      tell(`${count(done.size, "sandbox", "sandboxes")} discarded.`);
    },
  });
}

/** Shows the whole family of a sandbox. @param {Named} sandbox */
export async function family(sandbox) {
  const [told, usage] = await Promise.all([ask(`${at(sandbox)}/tree?family=true`), ask("/v1/usage").catch(() => ({ sandboxes: [] }))]);
  const busy = new Set(usage.sandboxes.filter((/** @type {any} */ it) => it.samples.at(-1)?.memory_bytes > 0).map((/** @type {any} */ it) => it.id));
  const shown = open("Lineage",
    h("p", { className: "quiet" }, "Each fork hangs below the snapshot that it began as."),
    h("div", { className: "lineage", tabIndex: 0, role: "region", "aria-label": "Lineage" }, h("ul", { className: "tree" }, ...told.roots.map(branch))),
    h("div", { className: "line actions" }, h("button", { onclick: () => shown.close("") }, "Close")));

  /** @param {any} node @returns {HTMLElement} */
  function branch(node) {
    const here = node.sandbox.id === sandbox.id;
    const below = [
      ...node.snapshots.map((/** @type {any} */ point) => h("li", {},
        h("span", { className: "point" }, h("span", { "aria-hidden": "true" }, "◆ "), point.name, h("span", { className: "quiet" }, ` snapshot · ${age(point.created_at)}`)),
        point.forks.length > 0 ? h("ul", {}, ...point.forks.map(branch)) : null)),
      ...node.forks.map(branch),
    ];
    return h("li", {},
      h("span", { className: here ? "node here" : "node" },
        h("a", { href: `#/sandbox/${node.sandbox.id}`, "aria-current": here ? "true" : null, onclick: () => shown.close("") }, node.sandbox.alias),
        badge(standing(node.sandbox, busy.has(node.sandbox.id))), h("span", { className: "quiet when" }, age(node.sandbox.created_at))),
      below.length > 0 ? h("ul", {}, ...below) : null);
  }
}
