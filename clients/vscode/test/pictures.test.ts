// Makes the pictures of docs/vscode.md, each of a window as somebody at work has it.
import { join } from "node:path";
import { test } from "node:test";
import { asking, bash, edits, type Entry } from "./support/agents";
import { Desk } from "./support/desk";
import { missing } from "./support/available";

const folder = process.env["ABEY_PICTURES"];
const skip = missing() ?? (folder === undefined ? "no ABEY_PICTURES, the folder of the pictures" : false);

const source = `"""Versions of a release."""\n\n\ndef newer(ours: str, theirs: str) -> bool:\n    return ours > theirs\n\n\ndef main() -> None:\n    print(newer("1.10", "1.9"))\n`;
const check = `from versions import newer\n\nfor a, b in [("2.0", "1.9"), ("1.10", "1.9")]:\n    print(f"{a} is newer than {b}:", "ok" if newer(a, b) else "FAILED")\n`;
const helper = (...script: readonly Entry[]) => ({ ...asking(...script), description: "Looks, and asks before it changes anything" });

test("the pictures", { skip, timeout: 300_000 }, async () => {
  const desk = await Desk.sit((place) => {
    place.file("versions.py", source);
    place.file("check_versions.py", check);
    place.agent(
      "helper",
      helper(
        { thinking: "The checks say what is expected.", text: "I run the checks first.", calls: [bash("python3 check_versions.py")] },
        {
          text: "One check fails: versions are compared **as texts**, and `\"1.10\"` comes before `\"1.9\"`.\n\n1. `newer` has to compare numbers.\n2. The check stays as it is.\n\nShall I change `versions.py`?",
        },
      ),
    );
    place.agent("fixer", helper({ calls: [edits("versions.py", "    return ours > theirs\n", "    return numbers(ours) > numbers(theirs)\n\n\ndef numbers(version: str) -> list[int]:\n    return [int(part) for part in version.split(\".\")]\n")] }));
    place.agent("releaser", helper({ calls: [bash("git push origin main --tags")] }));
    place.agent("reader", helper({ calls: [bash("git log --oneline -5\u200b && \u001b[1mecho 'done'\u001b[0m")] }));
    place.agent("checker", helper({ calls: [bash("git status --short")] }));
  }, { settings: { "breadcrumbs.enabled": false } });
  await desk.during(async ({ workbench, place, code }) => {
    const { page } = workbench;
    const picture = async (name: string, theme: "Light" | "Dark"): Promise<void> => {
      code.set({ "breadcrumbs.enabled": false, "workbench.colorTheme": `Default ${theme} Modern` });
      await page.locator(`.monaco-workbench.${theme === "Light" ? "vs" : "vs-dark"}`).waitFor();
      await page.waitForTimeout(1000);
      await page.screenshot({ path: join(folder ?? "", `${name}.png`) });
    };
    await workbench.activity("Abey");
    await workbench.command("Abey: Refresh");

    await place.waiting("helper", "Why does the release check fail?", "turn");
    await workbench.choose(/^Why does the release/);
    const panel = await workbench.frame('h1:text-is("Why does the release check fail?")');
    await panel.getByRole("button", { name: "Approve and continue", exact: true }).click();
    await panel.locator(".status", { hasText: "answered" }).waitFor();
    await place.waiting("fixer", "Compare versions as numbers");
    await workbench.row("versions.py").first().waitFor();
    await picture("session", "Light");

    await workbench.opens(workbench.row("versions.py").first());
    await page.locator(".monaco-diff-editor .line-insert, .monaco-diff-editor .char-insert").first().waitFor();
    await picture("change", "Light");

    await place.waiting("reader", "What was changed last?");
    await workbench.choose("git log");
    await workbench.review("git log");
    await picture("review", "Dark");

    await place.waiting("checker", "Is everything committed?");
    await workbench.choose("git status");
    const review = await workbench.review("git status");
    await review.locator("summary", { hasText: "Always" }).click();
    await picture("always", "Dark");

    await place.waiting("releaser", "Push the release");
    const editor = workbench.tab("bash_command (arguments)");
    await workbench.inline(workbench.row("git push").first(), "Edit Arguments", () => editor.isVisible());
    const right = page.locator(".monaco-diff-editor .editor.modified");
    await workbench.word(right.getByText("git push").last(), "main");
    await page.keyboard.type("release");
    await right.getByText("origin release").first().waitFor();
    await picture("arguments", "Dark");
  });
});
