// Everything of the flow can be reached and done without a mouse, also on a narrow screen.

import { check, has, same, visit } from "../harness.js";

export default async function ({ server, browser }) {
  await server.ask("/v1/suggestions", { text: "Make it", commands: ["echo made > made.txt"] });
  const page = await visit(browser, server, {
    viewport: { width: 390, height: 844 }, colorScheme: "dark", reducedMotion: "reduce",
  });
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  check(!await wide(), "the first view fits");
  /** Goes on with the tab key until something has the focus. */
  const reach = async (what, matches) => {
    for (let turns = 0; turns < 80; turns += 1) {
      await page.keyboard.press("Tab");
      const found = await page.evaluate(() => {
        let at = document.activeElement;
        while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
        const inside = (/** @type {any} */ it) => it?.closest?.(".suggestion") ?? it?.getRootNode?.().host?.closest?.(".suggestion");
        return { text: at?.textContent?.trim() ?? "", label: at?.getAttribute("aria-label") ?? "", tag: at?.tagName ?? "", role: at?.getAttribute("role") ?? "", offered: Boolean(inside(at)) };
      });
      if (matches(found)) return;
    }
    throw new Error(`the tab key does not reach ${what}`);
  };
  await page.keyboard.press("Tab");
  same(await page.evaluate(() => document.activeElement?.textContent), "Skip to content", "the first stop");
  await reach("the button", (it) => it.offered && it.text.includes("Try This Safely"));
  await page.keyboard.press("Enter");
  await page.locator(".result.success").waitFor();
  check(!await wide(), "the experiment fits");
  await reach("the tabs", (it) => it.role === "tab");
  await page.keyboard.press("ArrowRight");
  same(await page.evaluate(() => document.activeElement?.textContent), "Files", "the next tab");
  await page.locator(".pane.experimental .files:visible li").first().waitFor();
  check(!await wide(), "the files fit");
  await page.keyboard.press("End");
  same(await page.evaluate(() => document.activeElement?.textContent), "Memory", "the last tab");
  await page.locator("main").focus();
  await reach("apply", (it) => it.tag === "BUTTON" && it.text === "Apply to Main");
  await page.keyboard.press("Space");
  await page.locator(".result", { hasText: "Applied to main" }).waitFor();
  check(has("made.txt"), "applied");
  check(!await wide(), "the result fits");
}
