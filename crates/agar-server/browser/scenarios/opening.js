// The link lets a browser in, and every view of the page comes up without a complaint.

import { check, same, visit } from "../harness.js";

export default async function ({ server, browser }) {
  const page = await visit(browser, server);
  check(!page.url().includes("key="), "the secret does not stay in the address");
  const links = await page.locator("nav a").all();
  check(links.length >= 2, "there are views to go to");
  for (const link of links) {
    const name = await link.textContent();
    await link.click();
    await page.locator(`nav a[aria-current=page]`, { hasText: name }).waitFor();
    await page.locator("main h2").first().waitFor();
    same(await page.locator(".trouble").count(), 0, `trouble in ${name}`);
  }
  // Somebody who did not follow the link sees what to do, and nothing else.
  const stranger = await (await browser.person()).newPage();
  await stranger.goto(server.origin);
  await stranger.locator(".trouble", { hasText: "agar serve" }).waitFor();
}
