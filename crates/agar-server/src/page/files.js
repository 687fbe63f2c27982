// The files of main beside those of the sandbox: two panes that always show the same place.

import { ask, content } from "/assets/api.js";
import { h } from "/assets/dom.js";
import { size } from "/assets/words.js";

/** @type {Record<string, string>} */
const signs = { directory: "📁", file: "📄", symlink: "🔗" };

/**
 * Both panes.
 * @param {string} id The sandbox.
 */
export function filePair(id) {
  let path = "";
  const sides = {
    main: h("div", { className: "files" }),
    sandbox: h("div", { className: "files" }),
  };
  const address = (/** @type {string} */ side, /** @type {string} */ at, more = "") =>
    `/v1/sandboxes/${id}/files?path=${encodeURIComponent(at)}${side === "main" ? "&side=main" : ""}${more}`;
  const look = (/** @type {string} */ side) => ask(address(side, path, "&describe=true")).catch((error) => ({ what: "nothing", error }));
  const go = (/** @type {string} */ to) => { path = to; return refresh(true); };

  const refresh = async (moved = false) => {
    const wanted = path;
    const [main, sandbox] = await Promise.all([look("main"), look("sandbox")]);
    if (wanted !== path) return;
    const inside = new Set((sandbox.entries ?? []).map((/** @type {any} */ entry) => entry.name));
    const outside = new Set((main.entries ?? []).map((/** @type {any} */ entry) => entry.name));
    const lost = (main.entries ?? []).filter((/** @type {any} */ entry) => sandbox.what === "directory" && !inside.has(entry.name));
    await Promise.all([fill("main", main, [], new Set()), fill("sandbox", sandbox, lost, outside)]);
    if (moved) /** @type {HTMLElement | null} */ (sides.sandbox.querySelector("button"))?.focus();
  };

  /**
   * @param {"main" | "sandbox"} side
   * @param {any} found
   * @param {any[]} lost
   * @param {Set<string>} known
   */
  const fill = async (side, found, lost, known) => {
    const place = sides[side];
    const parts = [crumbs(side)];
    if (found.what === "directory") parts.push(folder(side, found, lost, known));
    else if (found.what === "file") parts.push(await file(side, found));
    else if (found.what === "symlink") parts.push(h("p", {}, `A link to ${found.target}. It is not followed.`));
    else if (found.error?.status === 404) parts.push(h("p", { className: "quiet" }, side === "main" ? "Not in main: the sandbox made it." : "Not in the sandbox."));
    else if (found.error) parts.push(h("p", { className: "bad" }, found.error.message));
    else parts.push(h("p", {}, `A ${found.what}: nothing to show.`));
    place.replaceChildren(...parts);
  };

  const crumbs = (/** @type {string} */ side) => {
    const words = path === "" ? [] : path.split("/");
    const list = h("nav", { className: "crumbs", "aria-label": `Place in ${side}` },
      h("button", { className: "link", onclick: () => go("") }, "project"));
    words.forEach((word, index) => list.append(
      h("span", { "aria-hidden": "true" }, "/"),
      h("button", { className: "link", onclick: () => go(words.slice(0, index + 1).join("/")) }, word)));
    return list;
  };

  /**
   * @param {string} side
   * @param {any} found
   * @param {any[]} lost
   * @param {Set<string>} known
   */
  const folder = (side, found, lost, known) => {
    if (found.entries.length + lost.length === 0) return h("p", { className: "quiet" }, "An empty directory.");
    const rows = found.entries.map((/** @type {any} */ entry) => {
      const fresh = side === "sandbox" && !known.has(entry.name);
      const mark = side === "sandbox" && entry.changed ? (fresh ? "new" : "changed") : "";
      return h("li", {},
        h("button", { className: "link name", onclick: () => go(path === "" ? entry.name : `${path}/${entry.name}`) },
          h("span", { "aria-hidden": "true" }, `${signs[entry.what] ?? "▪"} `), entry.name),
        mark ? h("span", { className: "tag warn" }, `● ${mark}`) : null,
        h("span", { className: "quiet size" }, entry.what === "file" ? size(entry.bytes) : ""));
    });
    const gone = lost.map((entry) => h("li", { className: "gone" },
      h("span", { className: "name" }, `${signs[entry.what] ?? "▪"} ${entry.name}`), h("span", { className: "tag bad" }, "− removed here")));
    return h("ul", { className: "plain listing" }, ...rows, ...gone);
  };

  /**
   * @param {string} side
   * @param {any} found
   */
  const file = async (side, found) => {
    const text = await content(address(side, path)).catch((error) => error);
    if (text instanceof Error) return h("p", { className: "bad" }, text.message);
    if (text === null) return h("p", { className: "quiet" }, `Not text: ${size(found.bytes)}.`);
    return h("pre", { tabIndex: 0, role: "region", "aria-label": `${path} in ${side}` }, text === "" ? "(empty)" : text);
  };

  return { ...sides, refresh };
}
