// Every view, light and dark, wide and narrow, and everything that opens from them: axe finds nothing serious, and
// nothing is wider than the window. Colours do not depend on the width, so that the narrow one is seen in one of them.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { check, same, visit } from "../harness.js";
import { depths, everything, go, views } from "../life.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export default async function ({ server, browser }) {
  const made = await everything(server);
  const page = await visit(browser, server);
  const troubles = [];
  for (const colorScheme of ["light", "dark"]) {
    for (const width of colorScheme === "light" ? [1280, 390] : [1280]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 900 });
      for (const view of views(made)) {
        await go(page, server, view);
        troubles.push(...await looked(page, `${view[0]} ${colorScheme} ${width}`));
      }
    }
  }
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width: colorScheme === "light" ? 1280 : 390, height: 900 });
    for (const [name, address, wanted, deeper] of depths(made)) {
      await page.goto("about:blank");
      await go(page, server, [name, address, wanted]);
      await deeper(page);
      troubles.push(...await looked(page, `${name} ${colorScheme}`));
    }
  }
  check(troubles.length === 0, `nothing serious is found:\n${troubles.join("\n")}`);
}

/** What is wrong with the page as it is. */
async function looked(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
    return violations.filter((it) => ["serious", "critical"].includes(it.impact))
      .map((it) => `${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
  });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) found.push(`${wide} pixels wider than the window`);
  if (!where.startsWith("nothing-there")) same(await page.locator(".trouble").count(), 0, `trouble in ${where}`);
  return found.map((it) => `${where}: ${it}`);
}
