// A unified diff, line by line, as text.

import { h } from "/assets/dom.js";

/** More lines than this are not drawn at once. */
const LINES_MAX = 2000;

/**
 * A patch with its lines marked.
 * @param {string} patch
 * @param {string} label
 */
export function patchView(patch, label) {
  const lines = patch.replace(/\n$/, "").split("\n");
  const view = h("pre", { className: "patch", tabIndex: 0, role: "region", "aria-label": label });
  let inside = false;
  for (const line of lines.slice(0, LINES_MAX)) {
    const begins = line.startsWith("diff --git");
    inside = !begins && (inside || line.startsWith("@@"));
    const tone = begins ? "file" : !inside || line.startsWith("@@") ? "spot"
      : line.startsWith("+") ? "add" : line.startsWith("-") ? "cut" : "";
    view.append(h("span", { className: `row ${tone}` }, `${line}\n`));
  }
  if (lines.length > LINES_MAX) {
    view.append(h("span", { className: "row quiet" }, `… ${lines.length - LINES_MAX} more lines; \`agar diff\` shows them all\n`));
  }
  return view;
}

/**
 * The part of a patch that is about one path.
 * @param {string} patch
 * @param {string} path
 */
export function partOf(patch, path) {
  const parts = patch.split(/^(?=diff --git )/m);
  return parts.find((part) => part.includes(`\n+++ b/${path}\n`) || part.includes(`\n--- a/${path}\n`)
    || part.startsWith(`diff --git a/${path} b/${path}\n`)) ?? "";
}
