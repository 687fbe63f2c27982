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
