// The seed's signs, each with its word, and numbers as a person says them.

import { h } from "/assets/dom.js";

/** @type {Record<string, [string, string, string?]>} Sign, word and tone of a status. */
const signs = {
  creating: ["⚡", "Creating", "busy"], running: ["🔄", "Running", "busy"], success: ["✅", "Success", "good"],
  partial: ["⚠️", "Partial", "warn"], failed: ["❌", "Failed", "bad"], paused: ["⏸", "Paused"],
  finished: ["■", "Finished"], promoted: ["✅", "Applied", "good"], discarded: ["🗑", "Discarded"],
  collected: ["·", "Gone"], waiting: ["⏳", "Waiting for commands"], idle: ["◌", "Idle"], unused: ["○", "Not run yet"],
  interrupted: ["⚠️", "Interrupted", "warn"],
};

/**
 * How a sandbox stands, as a person means it: one whose walls stand is not running while nothing runs in it.
 * @param {{ state: string, runs: number, last_run?: any }} sandbox As a list has it.
 * @param {boolean} [busy] Whether something was seen to run in it.
 */
export function standing({ state, runs, last_run: last }, busy = false) {
  if (state === "running") return busy || (last && !last.end) ? "running" : "idle";
  return state === "finished" && runs === 0 ? "unused" : state;
}

/**
 * A status as a sign and a word.
 * @param {string} status
 */
export function badge(status) {
  const [sign, word, tone] = signs[status] ?? ["", status];
  return h("span", { className: `badge ${tone ?? "quiet"}` }, h("span", { "aria-hidden": "true" }, sign), ` ${word}`);
}

/**
 * How long ago something was.
 * @param {number} ms When, since 1970.
 */
export function age(ms) {
  const seconds = Math.max(0, (Date.now() - ms) / 1000);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} d ago`;
}

/**
 * How long something took.
 * @param {number} ms
 */
export function took(ms) {
  if (ms < 1) return "under 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

/**
 * A number of bytes, as the command says it.
 * @param {number} bytes
 */
export function size(bytes) {
  const steps = Math.min(3, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const number = bytes / 1024 ** steps;
  return `${Number.isInteger(number) || number >= 100 ? Math.round(number) : number.toFixed(1)} ${["B", "KB", "MB", "GB"][steps]}`;
}

/**
 * A number and the noun it counts.
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}

/**
 * Who is behind something; nothing for whoever did not say.
 * @param {string | null | undefined} agent
 */
export function by(agent) { return agent && agent !== "api" ? agent : ""; }

/**
 * A message as a sentence.
 * @param {string} text
 */
export function sentence(text) {
  return `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;
}

/**
 * A sentence in which `this` is code.
 * @param {string} text
 * @returns {(string | Node)[]}
 */
export function prose(text) {
  return text.split("`").map((part, index, all) => (index % 2 === 1 && index < all.length - 1 ? h("code", {}, part) : part));
}
