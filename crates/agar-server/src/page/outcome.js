// How an experiment came out, and the decision: apply, look closer, discard.

import { ask } from "/assets/api.js";
import { settle } from "/assets/conflict.js";
import { complain, h, tell } from "/assets/dom.js";
import { count, prose, sentence, size, took } from "/assets/words.js";

/** @type {Record<string, [string, string]>} */
const headlines = {
  success: ["✅", "Success: completed without errors"],
  partial: ["⚠️", "Partial: some aspects succeeded"],
  failed: ["❌", "Failed: errors encountered"],
};

/** @type {Record<string, [string, string]>} What was measured, if it held and if not. */
const measured = {
  noErrors: ["No errors", "There were errors"],
  testsPass: ["Tests pass", "Tests fail"],
  buildSucceeds: ["The build succeeds", "The build fails"],
  performanceImproved: ["Performance improved", "Performance did not improve"],
};

/**
 * The findings of an experiment, one a line.
 * @param {any} status
 */
function findings(status) {
  const success = status.metrics.success ?? {};
  const lines = Object.entries(measured).filter(([key]) => typeof success[key] === "boolean")
    .map(([key, [good, bad]]) => h("li", {}, success[key] ? `✅ ${good}` : `❌ ${bad}`));
  const reasons = status.failureReasons.map((/** @type {string} */ reason) => h("li", {}, `❌ ${reason}`));
  return h("ul", { className: "plain findings" }, ...lines, ...reasons, status.error ? h("li", {}, `❌ ${status.error}`) : null);
}

/**
 * Learned lines, with the seed's signs and their words.
 * @param {any} memory
 * @param {number} graduated
 */
export function learned(memory, graduated) {
  const last = memory.experiments.at(-1);
  const lines = [];
  if (graduated > 0) lines.push(["🎓", "Graduating", `${count(graduated, "pattern")} entered the project's memory`]);
  const failed = last?.outcome.status === "failure" || last?.outcome.status === "partial";
  const insights = last?.lessons.insights ?? [];
  for (const insight of insights.length > 0 ? insights : last?.outcome.failureReasons ?? []) {
    lines.push(failed ? ["📚", "Lesson", insight] : ["📝", "Learning", insight]);
  }
  if (lines.length === 0) return h("p", { className: "quiet" }, "Nothing new: memory learns from what runs and how it ends.");
  return h("ul", { className: "plain learned" }, ...lines.map(([sign, word, text]) =>
    h("li", {}, h("span", { "aria-hidden": "true" }, `${sign} `), h("strong", {}, `${word}: `), ...prose(text))));
}

/**
 * The card.
 * @param {string} id
 * @param {() => Promise<void>} changed Something was decided.
 * @param {() => void} details Shows everything.
 */
export function outcome(id, changed, details) {
  const place = h("div", { className: "outcome", "aria-live": "polite" });
  const trouble = h("div", {});
  let busy = false;
  let drawn = "";

  /** Draws the card, unless it is there already: whoever is in it keeps the focus, and hears nothing twice. */
  const draw = (/** @type {any[]} */ facts, /** @type {() => Node} */ make) => {
    const key = JSON.stringify(facts);
    if (key === drawn) return;
    drawn = key;
    // The button that was pressed goes: whoever pressed it goes on with what came of it.
    const inside = place.contains(document.activeElement);
    const made = /** @type {HTMLElement} */ (make());
    place.replaceChildren(made);
    if (inside) { made.tabIndex = -1; made.focus(); }
  };

  const decide = async (/** @type {"accept" | "reject"} */ decision) => {
    if (busy) return;
    busy = true;
    trouble.replaceChildren();
    tell(decision === "accept" ? "Applying…" : "Discarding…");
    try {
      await ask(`/api/sandbox/${id}/finalize`, { decision });
      tell("");
      await changed();
    } catch (error) {
      tell("");
      await refused(error);
    } finally { busy = false; }
  };

  const refused = async (/** @type {any} */ error) => {
    if (error.status === 409 && error.details.conflicts) {
      const view = await settle(id, {
        applied: async () => { trouble.replaceChildren(); await changed(); },
        cancelled: () => trouble.replaceChildren(),
        failed: (again) => { refused(again).catch(complain); },
      });
      trouble.replaceChildren(view);
      view.querySelector("input")?.focus();
      return;
    }
    const checks = error.details?.checks ?? [];
    trouble.replaceChildren(h("section", { className: "card bad-card", role: "alert" },
      h("h3", {}, h("span", { "aria-hidden": "true" }, "❌ "), "Not applied"), h("p", {}, `${sentence(error.message)} Main is untouched and the sandbox is kept.`),
      checks.length > 0 ? h("ul", { className: "plain" }, ...checks.map((/** @type {any} */ check) =>
        h("li", {}, `${check.verdict === "pass" ? "✅" : "❌"} ${check.name}: ${check.verdict}${check.reason ? `, ${check.reason}` : ""}`))) : null,
      error.hint ? h("p", { className: "quiet" }, ...prose(error.hint)) : null));
  };

  const undo = async (/** @type {string} */ promotion) => {
    try {
      await ask("/v1/promotions/undo", { promotion });
      tell("Taken back: main is as it was.");
      await changed();
    } catch (error) { complain(error); }
  };

  return {
    element: place,
    apply: () => decide("accept"),
    /** Says how it came out. @param {any} status @param {number} ms How long its commands took. */
    ended(status, ms) {
      const [sign, words] = headlines[status.status] ?? ["■", "Nothing runs now: look at what changed, then decide"];
      const failed = status.status === "failed";
      draw([status.status, status.failureReasons, status.error, status.metrics, ms], () => h("section", { className: `card result ${status.status}`, "aria-label": "Result" },
        h("h3", {}, h("span", { "aria-hidden": "true" }, `${sign} `), words),
        findings(status),
        h("p", { className: "quiet" }, [count(status.runs, "command"), took(ms), status.metrics.memoryPeakBytes ? `${size(status.metrics.memoryPeakBytes)} peak` : ""].filter(Boolean).join(" · ")),
        failed ? h("p", {}, "Nothing was applied; main is untouched.") : null,
        h("div", { className: "line actions" },
          h("button", { className: failed ? "" : "primary", onclick: () => decide("accept") }, failed ? "Apply anyway" : "Apply to Main"),
          h("button", { onclick: details }, "View Details"),
          h("button", { className: failed ? "primary" : "", onclick: () => decide("reject") }, "Discard")),
        trouble));
    },
    /** Something runs, or waits to. @param {string} words */
    waits(words) {
      draw([words], () => h("section", { className: "card result", "aria-label": "Result" },
        h("p", {}, ...prose(words)),
        h("div", { className: "line actions" }, h("button", { onclick: details }, "View Details"), h("button", { onclick: () => decide("reject") }, "Discard")),
        trouble));
    },
    /** @param {any} status @param {any} memory @param {{ graduated: number, promotion: string | null }} facts */
    decided(status, memory, facts) {
      const applied = status.state === "promoted";
      const promotion = facts.promotion;
      draw([status.state, facts, memory.experiments.length], () => h("section", { className: `card result ${applied ? "success" : ""}`, "aria-label": "Result" },
        h("h3", {}, h("span", { "aria-hidden": "true" }, applied ? "✅ " : "🗑 "), applied ? "Applied to main" : "Discarded"),
        h("p", {}, ...prose(applied ? "The sandbox's changes are in your project." : "Main was never touched. What the sandbox changed can be had back for a week: `agar restore --trash`.")),
        h("h4", {}, "What memory learned"), learned(memory, facts.graduated),
        h("div", { className: "line actions" },
          applied && promotion ? h("button", { onclick: () => undo(promotion) }, "Undo") : null,
          h("button", { onclick: details }, "View Details"),
          h("a", { className: "button", href: "#/" }, "Back to sandboxes"))));
    },
  };
}
