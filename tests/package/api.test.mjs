// The public interface equals the report in tests/package/api, and every public name has a comment.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { problemsOf, readApi } from "../../scripts/checks/api.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const reports = join(root, "tests", "package", "api");

describe("The public interface", () => {
  const folder = mkdtempSync(join(tmpdir(), "zeropoint-api-"));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("equals the report, and every public name has a comment", async () => {
    assert.deepEqual(problemsOf(await readApi(), reports), [], "npm run api updates the report");
  });

  it("fails the comparison after a change or a removed comment", async () => {
    cpSync(join(root, "package.json"), join(folder, "package.json"));
    cpSync(join(root, "dist"), join(folder, "dist"), {
      recursive: true,
      filter: (path) => !path.endsWith("/web"),
    });
    const file = join(folder, "dist", "core", "init.d.ts");
    const text = readFileSync(file, "utf8");
    const withOption = text.replace("threads?: number | undefined;", "$&\n    workers?: number;");
    assert.notEqual(withOption, text);
    writeFileSync(file, withOption);
    const problems = problemsOf(await readApi(folder), reports);
    assert.match(problems.join("\n"), /^zeropoint: InitOptions\.workers has no comment$/m);
    assert.match(
      problems.join("\n"),
      /^zeropoint\.md: line \d+ says ".*", the package " +workers\?: number;"$/m,
    );
  });
});
