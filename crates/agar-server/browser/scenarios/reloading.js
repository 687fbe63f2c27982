// A run goes on while the page is loaded again, and everything it printed is there once.

import { check, read, same, visit } from "../harness.js";

export default async function ({ server, browser }) {
  const page = await visit(browser, server);
  await page.getByLabel("What do you want to try?").fill("Count until told to stop");
  // It goes on when the test says so, and not before: no race with the reload.
  await page.getByLabel("Commands").fill("echo before; until [ -e go.txt ]; do sleep 0.1; done; echo after; echo done > done.txt");
  await page.getByRole("button", { name: "Try This Safely" }).click();
  await page.locator(".log", { hasText: "before" }).waitFor();
  await page.locator(".badge", { hasText: "Running" }).waitFor();
  const where = page.url();
  await page.reload();
  same(page.url(), where, "the address");
  await page.locator(".badge", { hasText: "Running" }).waitFor();
  await page.locator(".log", { hasText: "before" }).waitFor();
  check(await page.locator(".steps .time", { hasText: /\d/ }).count() > 0, "the times of the set-up are still known");
  const id = where.split("/").pop();
  await server.ask(`/v1/sandboxes/${id}/files?path=go.txt`, {}, "PUT");
  await page.locator(".result.success").waitFor();
  await page.locator(".log", { hasText: "after" }).waitFor();
  const printed = await page.locator(".log .printed").allTextContents();
  same(printed.join(""), "before\nafter\n", "what was printed, once");
  check(read("notes.txt").includes("second"), "main is as it was");
}
