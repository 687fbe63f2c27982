// The whole flow of the first seed without a mouse, on a narrow screen: what to try, the checklist, both sides, the
// changes, apply, what was learned. Whatever has the focus shows it; what closes gives it back.

import { check, has, read, same, until, visit } from "../harness.js";

/** What has the focus, looked for inside of elements with a tree of their own. */
function focused() {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  const style = at ? getComputedStyle(at) : null;
  return {
    text: at?.textContent?.trim().replace(/\s+/g, " ") ?? "", tag: at?.tagName ?? "", id: at?.id ?? "", role: at?.getAttribute("role") ?? "",
    label: at?.getAttribute("aria-label") ?? "", result: Boolean(at?.closest(".result")), details: Boolean(at?.closest(".details")),
    shows: style !== null && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
  };
}

export default async function ({ server, browser }) {
  await server.ask("/v1/sandboxes", { note: "another one" });
  const page = await visit(browser, server, { viewport: { width: 390, height: 844 }, colorScheme: "dark", reducedMotion: "reduce" });
  const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  const here = () => page.evaluate(focused);
  const fits = async (what) => check(!await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth), `${what} fits`);
  /** Goes on with the tab key until something has the focus, and shows it. */
  const reach = async (what, matches, key = "Tab") => {
    for (let turns = 0; turns < 80; turns += 1) {
      await press(key);
      const found = await here();
      if (!matches(found)) continue;
      check(found.shows, `the focus is seen on ${what}`);
      return;
    }
    throw new Error(`the tab key does not reach ${what}`);
  };

  // Past the links, which does not lead to another view.
  await page.goto(`${server.origin}/#/memory`);
  await page.locator("h2", { hasText: "Patterns" }).waitFor();
  await reach("the first stop", (it) => it.text === "Skip to content");
  await press("Enter");
  same(await page.evaluate(() => [document.activeElement.id, location.hash]), ["main", "#/memory"], "where skipping leads");
  await reach("a view", (it) => it.tag === "A" && it.text === "Sandboxes", "Shift+Tab");
  await press("Enter");
  await page.getByLabel("What do you want to try?").waitFor();

  // What to try.
  await fits("the first view");
  await reach("the words", (it) => it.id === "suggestion");
  await page.keyboard.type("Add a greeting");
  await reach("the commands", (it) => it.id === "commands");
  await page.keyboard.type("echo hello > greeting.txt\nsed -i s/second/SECOND/ notes.txt && git diff --check && echo all 3 tests pass");
  await reach("the button", (it) => it.tag === "BUTTON" && it.text.includes("Try This Safely"));
  await press("Enter");
  await page.locator(".result.success").waitFor();
  await fits("the experiment");

  // The checklist, both sides, and the files of each.
  await reach("the checklist", (it) => it.tag === "SUMMARY" && it.text.includes("Sandbox set up"));
  await press("Enter");
  await page.locator(".step.done", { hasText: "Memory consulted" }).waitFor();
  await reach("the tabs", (it) => it.role === "tab");
  await press("ArrowRight");
  same((await here()).text, "Files", "the next tab");
  await page.locator(".pane.experimental .listing:visible li", { hasText: "greeting.txt" }).waitFor();
  await fits("the list of files");
  await reach("a file", (it) => it.text.includes("greeting.txt"));
  await press("Enter");
  await page.locator(".pane.experimental pre:visible", { hasText: "hello" }).waitFor();
  await reach("the tabs again", (it) => it.role === "tab", "Shift+Tab");
  await press("End");
  same((await here()).text, "Memory", "the last tab");
  await page.locator(".pane.safe h4:visible").waitFor();

  // The changes.
  const overlay = page.getByRole("region", { name: "Changes detected" });
  await reach("the changes", (it) => it.text.startsWith("Changes detected"));
  await press("Enter");
  await overlay.getByText("notes.txt").waitFor();
  await reach("a change", (it) => it.tag === "BUTTON" && it.text.endsWith("notes.txt"));
  await press("Enter");
  await page.locator(".details .add", { hasText: "SECOND" }).waitFor();
  check((await here()).details, "the focus goes to what was opened");
  await press("Escape");
  await page.locator(".details").waitFor({ state: "hidden" });
  check((await here()).text.endsWith("notes.txt"), "and back to where it was");

  // The decision, and what came of it.
  await reach("apply", (it) => it.tag === "BUTTON" && it.text === "Apply to Main", "Shift+Tab");
  await press("Space");
  await page.locator(".result", { hasText: "Applied to main" }).waitFor();
  same([read("greeting.txt"), read("notes.txt").includes("SECOND")], ["hello\n", true], "on disk");
  await page.locator(".result .learned li").first().waitFor();
  await until("the focus to be on the result", async () => (await here()).result);
  await fits("the result");
  await reach("undo", (it) => it.text === "Undo");
  await press("Enter");
  await until("it to be taken back", () => !has("greeting.txt"));

  // A dialog keeps the keyboard, Escape closes it, and the focus is back on what opened it.
  await page.goto(`${server.origin}/#/`);
  await page.locator(".box", { hasText: "another one" }).waitFor();
  await reach("snapshot", (it) => it.label.startsWith("Snapshot of") && it.tag === "BUTTON");
  const opener = (await here()).label;
  await press("Enter");
  await page.locator("dialog").waitFor();
  await press("Tab", "Tab", "Tab", "Tab");
  check(await page.evaluate(() => document.querySelector("dialog").contains(document.activeElement) || document.activeElement === document.body), "the keyboard stays inside");
  await press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  same((await here()).label, opener, "the focus");
  await press("Enter");
  await page.keyboard.type("by-hand");
  await press("Enter");
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.locator("#said", { hasText: "by-hand" }).waitFor();
}
