// The list of sandboxes: paged, searched, forked, snapshotted, drawn as a tree and discarded in bulk,
// all from the page and by the keyboard; names and notes are text whatever they say.

import { check, same, until, visit } from "../harness.js";
import { sandbox } from "../life.js";

const NASTY = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>";

export default async function ({ server, browser }) {
  const first = await sandbox(server, NASTY, "echo new > new.txt");
  const page = await visit(browser, server);
  const row = page.locator(".box", { hasText: "onerror" });
  await row.locator(".about", { hasText: NASTY }).waitFor();
  same(await page.locator(".box img, .box script").count(), 0, "what a note says stays text");
  await row.locator(".facts-line", { hasText: "1 file changed" }).waitFor();
  await row.locator(".usage", { hasText: /nothing runs now|processor/ }).waitFor();

  await row.getByRole("button", { name: "Snapshot" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("dialog input").fill("so-far");
  await page.keyboard.press("Enter");
  await page.locator("dialog").waitFor({ state: "detached" });
  check((await server.ask(`/v1/sandboxes/${first}/snapshots`)).snapshots.some((it) => it.name === "so-far"), "the snapshot is taken");

  await row.getByRole("button", { name: "Fork" }).click();
  await page.locator("dialog select").selectOption("so-far");
  await page.locator("dialog input[type=number]").fill("3");
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
  await until("the forks to be listed", async () => await page.locator(".box").count() === 4);
  await row.getByRole("button", { name: "Lineage" }).first().click();
  await page.locator(".tree li .node").nth(3).waitFor();
  check(await page.locator(".tree .point", { hasText: "so-far" }).count() === 1, "the tree shows the snapshot");
  await page.keyboard.press("Escape");

  await server.ask(`/v1/sandboxes/${first}/fork`, { count: 30, note: "one of many" });
  await page.reload();
  await page.locator(".pages", { hasText: "1–25 of 34" }).waitFor();
  same(await page.locator(".box").count(), 25, "a page of the list");
  await page.getByRole("button", { name: "Older" }).click();
  await page.locator(".pages", { hasText: "26–34 of 34" }).waitFor();
  same(await page.locator(".box").count(), 9, "the last page");
  await page.getByLabel("Find a sandbox").fill("of many");
  await page.locator(".pages", { hasText: "1–25" }).waitFor();
  check((await page.locator(".box .about").allTextContents()).every((it) => it === "one of many"), "only what fits is listed");

  await page.getByLabel("Select all on this page").check();
  await page.getByRole("button", { name: "Discard all 25" }).click();
  await page.locator("dialog", { hasText: "Discard 25 sandboxes?" }).getByRole("button", { name: "Discard" }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
  await until("five to be left", async () => await page.locator(".box").count() === 5);
  same((await server.ask("/v1/sandboxes?limit=100")).sandboxes.length, 9, "what is left");
  await page.getByLabel("Find a sandbox").fill("nothing like it");
  await page.locator(".empty", { hasText: "No sandbox fits" }).waitFor();
}
