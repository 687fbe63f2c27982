// How long the page takes to its first paint with 1,000 sandboxes and 10,000 experiments, beside the
// same page with nothing in it: `node paint.js [SANDBOXES EXPERIMENTS ROUNDS]`, answered as JSON.

import { Browser, Server, visit } from "./harness.js";
import { remember, sandbox } from "./life.js";

const [sandboxes = 1000, experiments = 10_000, rounds = 9] = process.argv.slice(2).map(Number);
const server = await Server.start();
const browser = await Browser.start();
const told = { sandboxes, experiments, empty_ms: [], full_ms: [], listed_ms: [], experiments_ms: [], transferred_bytes: 0 };
try {
  const page = await visit(browser, server);
  for (let round = 0; round < rounds; round += 1) told.empty_ms.push((await paint(page, "#/", ".empty")).painted);
  const first = await sandbox(server, "the first of many");
  for (let left = sandboxes - 1; left > 0; left -= 1000) {
    await server.ask(`/v1/sandboxes/${first}/fork`, { count: Math.min(left, 1000) });
  }
  await remember(experiments);
  for (let round = 0; round < rounds; round += 1) {
    const seen = await paint(page, "#/", ".box");
    told.full_ms.push(seen.painted);
    told.listed_ms.push(seen.there);
    told.transferred_bytes = seen.bytes;
    told.experiments_ms.push((await paint(page, "#/experiments", ".experiment")).there);
  }
} finally {
  await browser.end();
  await server.end();
}
console.log(JSON.stringify(told));

/** Loads an address anew: when something was painted, when what matters was there, what was carried. */
async function paint(page, address, wanted) {
  await page.goto("about:blank");
  await page.goto(`${server.origin}/${address}`);
  await page.locator(wanted).first().waitFor();
  return page.evaluate(() => ({
    painted: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now(),
    there: performance.now(),
    bytes: performance.getEntriesByType("resource").reduce((sum, it) => sum + it.encodedBodySize, 0),
  }));
}
