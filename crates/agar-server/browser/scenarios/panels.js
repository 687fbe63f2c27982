// Memory, experiments, populations and settings show what there is, teach where there is nothing, and do as told.

import { agar, check, same, until, visit } from "../harness.js";
import { graduate, remember } from "../life.js";

export default async function ({ server, browser }) {
  const page = await visit(browser, server);
  const go = async (address) => {
    await page.goto(`${server.origin}/${address}`);
    await page.locator("main .view h2").first().waitFor();
  };
  for (const [address, words] of [["#/memory", "Nothing is remembered yet"], ["#/experiments", "Nothing was tried yet"], ["#/populations", "Nothing breeds here yet"]]) {
    await go(address);
    await page.locator(".empty", { hasText: words }).first().waitFor();
  }
  await remember(120);
  await graduate(server);

  await go("#/settings");
  await go("#/memory");
  await page.locator("figure", { hasText: "Experiments a day" }).locator("svg .bar").first().waitFor();
  await page.locator("figure", { hasText: "Reliability" }).locator("svg .dot").first().waitFor();
  check(await page.locator(".finding .interval").count() > 0, "confidence comes with its interval");
  await page.locator("figure", { hasText: "Reliability" }).locator("summary").click();
  check(await page.locator("figure table tbody tr").count() > 0, "charts have their numbers as a table");

  await go("#/experiments");
  await until("a page of experiments", async () => await page.locator(".experiment").count() === 30);
  await page.getByRole("button", { name: "Older experiments" }).click();
  await until("the next page", async () => await page.locator(".experiment").count() === 60);
  await page.getByLabel("Find experiments").fill("postgresql RELATION");
  await until("the search", async () => {
    const names = await page.locator(".experiment .name").allTextContents();
    return names.length > 0 && names.every((it) => it.includes("PostgreSQL"));
  });
  await page.getByRole("button", { name: "Failed" }).click();
  await until("the failed ones", async () => {
    const marks = await page.locator(".experiment .badge").allTextContents();
    return marks.length > 0 && marks.every((it) => it.includes("Failed"));
  });
  await page.locator(".experiment .name").first().click();
  await page.locator("h2", { hasText: "Why it failed" }).waitFor();

  await go("#/settings");
  await page.getByLabel("Hide confidence").check();
  await go("#/memory");
  same(await page.locator(".interval, figure:has-text('Reliability')").count(), 0, "confidence is hidden");

  const before = (await server.ask("/v1/memory/stats")).experiments;
  await page.getByLabel("Forget everything that holds these words").fill("moment by the platform");
  await page.locator("form").getByRole("button", { name: "Forget" }).click();
  await page.locator("dialog").getByRole("button", { name: "Forget" }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
  const after = (await server.ask("/v1/memory/stats")).experiments;
  check(after < before, "what was to be forgotten is gone");
  same((await server.ask("/v1/experiments?words=platform")).experiments.length, 0, "experiments with the words");

  const evolved = await agar("evolve", "run", "--target", "x^2 + x", "-g", "4", "--name", "square");
  check([0, 1].includes(evolved.code), evolved.text);
  await go("#/populations");
  await page.getByRole("link", { name: "square" }).click();
  await page.locator("figure", { hasText: "Fitness over generations" }).locator("svg polyline").first().waitFor();
  await page.locator("figure", { hasText: "Lineage of the best" }).locator("svg .person.chosen").waitFor();
}
