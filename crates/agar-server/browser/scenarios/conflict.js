// Both changed the same lines: nothing is written until a side is chosen, hunk by hunk.

import { check, read, same, visit, write } from "../harness.js";

export default async function ({ server, browser }) {
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
  write("long.txt", `${lines.join("\n")}\n`);
  const made = await server.ask("/api/sandbox/create", {
    suggestion: "Rewrite three lines",
    commands: ["sed -i -e 's/^line 3$/sandbox 3/' -e 's/^line 20$/sandbox 20/' -e 's/^line 38$/sandbox 38/' long.txt"],
  });
  const page = await visit(browser, server);
  await page.goto(`${server.origin}/#/sandbox/${made.id}`);
  await page.locator(".result.success").waitFor();
  const mine = read("long.txt").replace("line 3\n", "mine 3\n").replace("line 38\n", "mine 38\n");
  write("long.txt", mine);
  await page.getByRole("button", { name: "Apply to Main" }).click();
  const conflicts = page.getByRole("region", { name: "Conflicts" });
  await conflicts.waitFor();
  same(read("long.txt"), mine, "nothing is written");
  same(await conflicts.locator("fieldset").count(), 3, "places");
  same(await conflicts.locator("fieldset.clash").count(), 2, "places where both changed");
  const apply = conflicts.getByRole("button", { name: "Apply with these choices" });
  check(await apply.isDisabled(), "every conflict wants a choice");
  await conflicts.locator("fieldset.clash").first().getByLabel("Take the sandbox's").check();
  check(await apply.isDisabled(), "one choice is not enough");
  await conflicts.locator("fieldset.clash").last().getByLabel("Keep mine").check();
  // Main moves on before it is applied: the places are others now, so it asks anew and writes nothing.
  const moved = read("long.txt").replace("line 20\n", "mine 20\n");
  write("long.txt", moved);
  await apply.click();
  await page.getByText("Main changed meanwhile").waitFor();
  await conflicts.locator("fieldset.clash").nth(2).waitFor();
  same(read("long.txt"), moved, "still nothing is written");
  await conflicts.locator("fieldset.clash").nth(0).getByLabel("Take the sandbox's").check();
  await conflicts.locator("fieldset.clash").nth(1).getByLabel("Take the sandbox's").check();
  await conflicts.locator("fieldset.clash").nth(2).getByLabel("Keep mine").check();
  await apply.click();
  await page.locator(".result", { hasText: "Applied to main" }).waitFor();
  const text = read("long.txt");
  check(text.includes("sandbox 3\n") && text.includes("sandbox 20\n"), "the sandbox's where chosen");
  check(text.includes("mine 38\n") && !text.includes("sandbox 38"), "mine where chosen");
}
