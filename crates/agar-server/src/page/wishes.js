// What this browser's person wishes of the page. It stays in this browser.

/** @typedef {"hide-confidence" | "stand-still"} Wish */

/** @param {Wish} wish */
export function wished(wish) {
  try { return localStorage.getItem(`agar.${wish}`) === "true"; } catch { return false; }
}

/**
 * @param {Wish} wish
 * @param {boolean} on
 */
export function setWish(wish, on) {
  try {
    if (on) localStorage.setItem(`agar.${wish}`, "true");
    else localStorage.removeItem(`agar.${wish}`);
  } catch { /* A browser that keeps nothing: it holds until the page is loaded again. */ }
}

/** Where the wish to apply is kept, so that it survives a reload of the tab. */
const APPLY = "agar.apply.";

/**
 * Remembers that a sandbox is to be applied when it succeeds and nothing stands in the way.
 * @param {string} id
 */
export function applyWhenDone(id) { sessionStorage.setItem(APPLY + id, "yes"); }

/**
 * Whether a sandbox is to be applied when it succeeds.
 * @param {string} id
 */
export function isToBeApplied(id) { return sessionStorage.getItem(APPLY + id) === "yes"; }

/**
 * Leaves the decision to the person.
 * @param {string} id
 */
export function decideLater(id) { sessionStorage.removeItem(APPLY + id); }
