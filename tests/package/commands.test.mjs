// The commands of package.json: their messages about arguments, ports, folders and old versions of Node, and
// their way to run test files.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, describe, it } from "node:test";
import { parse } from "acorn";
import { areasOf, needsMatrix, needsWholePage } from "../../scripts/checks/changes.mjs";
import { checkSubjects, listedAreas, problemOf } from "../../scripts/checks/commits.mjs";
import { root } from "../../scripts/process/run.mjs";
import { runTestFiles } from "../../scripts/test/test-files.mjs";
import { cacheFolder } from "../../scripts/toolchain/cache.mjs";
import { quoteLaunchers } from "../../scripts/toolchain/emscripten-install.mjs";

const folder = mkdtempSync(join(tmpdir(), "zeropoint-commands ä-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a script of the repository. */
function node(args, env = {}) {
  const options = { cwd: root, encoding: "utf8", timeout: 60_000, env: { ...process.env, ...env } };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
  return { status, stdout, stderr };
}

describe("npm start, npm test and npm run build", () => {
  for (const [name, command] of [
    ["start.mjs", "npm start"],
    ["test/test.mjs", "npm test"],
    ["build/build.mjs", "npm run build"],
    ["checks/release-check.mjs", "npm run release-check"],
  ]) {
    it(`print their help: ${command}`, () => {
      const { status, stdout } = node([`scripts/${name}`, "--help"]);
      assert.equal(status, 0);
      assert.ok(stdout.startsWith(command), stdout);
    });
  }

  it("serve the page at a port that no common tool has as its default", () => {
    // The page's service worker would answer other projects there.
    const { stdout } = node(["scripts/start.mjs", "--help"]);
    const [, port] = /Default: (\d+)/.exec(stdout);
    const common =
      "1234 3000 3001 4000 4173 4200 4321 5000 5173 5500 6006 8000 8080 8081 8888 9000";
    assert.ok(!common.split(" ").includes(port), port);
  });

  it("refuse unknown options in one line", () => {
    const { status, stderr } = node(["scripts/start.mjs", "--prot", "80"]);
    assert.equal(status, 1);
    assert.match(stderr, /^zeropoint: .*--prot.*\n$/);
  });

  it("refuse an old Node in one line, with JavaScript that old versions can parse", () => {
    const text = readFileSync(join(root, "scripts", "check-node.cjs"), "utf8");
    parse(text, { ecmaVersion: 5 });
    const run = new Function("process", "console", text);
    const said = [];
    const exits = [];
    const on = (version) =>
      run(
        { versions: { node: version }, execPath: "/node", exit: (code) => exits.push(code) },
        { error: (line) => said.push(line) },
      );
    on("16.20.2");
    assert.deepEqual(said, ["zeropoint: Node 20.16 or newer is needed, this is 16.20.2 (/node)"]);
    assert.deepEqual(exits, [1]);
    on("20.16.0");
    on("24.0.0");
    assert.equal(said.length, 1);
  });

  it("report a port in use before the build", async () => {
    const server = createServer().listen(0, "localhost");
    await once(server, "listening");
    const { port } = server.address();
    const child = spawn(process.execPath, ["scripts/start.mjs", "--port", String(port)], {
      cwd: root,
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (text) => {
        said += text;
      });
    }
    await once(child, "close");
    server.close();
    assert.equal(said, `zeropoint: port ${port} is in use; --port N takes another\n`);
  });
});

describe("A script that is ended", { skip: process.platform === "win32" }, () => {
  for (const name of ["run", "follow"]) {
    it(`does not go on as if its command had failed: ${name}`, async () => {
      const script = join(folder, `${name}.mjs`);
      const marker = join(folder, `${name}.txt`);
      const from = JSON.stringify(join(root, "scripts", "process", "run.mjs"));
      writeFileSync(
        script,
        `import { writeFileSync } from "node:fs";
        import { ${name}, runAsScript } from ${from};
        await runAsScript(import.meta.url, async () => {
          setTimeout(() => console.log("begun"), 100);
          await ${name}("sleep", ["60"]).catch(() => {});
          writeFileSync(${JSON.stringify(marker)}, "");
        });`,
      );
      const child = spawn(process.execPath, [script]);
      await once(child.stdout, "data");
      child.kill("SIGTERM");
      assert.deepEqual(await once(child, "exit"), [143, null]);
      assert.equal(existsSync(marker), false);
    });
  }
});

describe("The cache folder", () => {
  it("is the system's default, or XDG_CACHE_HOME", () => {
    const of = (platform, env) => cacheFolder({ platform, env }).replaceAll("\\", "/");
    assert.equal(of("linux", { XDG_CACHE_HOME: "/somewhere" }), "/somewhere/zeropoint");
    assert.match(of("linux", { XDG_CACHE_HOME: "relative" }), /\/\.cache\/zeropoint$/);
    assert.match(of("linux", {}), /\/\.cache\/zeropoint$/);
    assert.match(of("darwin", {}), /\/Library\/Caches\/zeropoint$/);
    assert.equal(of("win32", { LOCALAPPDATA: "C:/Local" }), "C:/Local/zeropoint");
  });
});

describe("Emscripten's launchers", { skip: process.platform === "win32" }, () => {
  it("run in a folder with spaces and umlauts after quoting", () => {
    const here = join(folder, "zero point ü (1)");
    mkdirSync(join(here, "tools"), { recursive: true });
    const launchers = {
      emcc: 'exec cat "$(readlink -f $0).py"',
      emnm: 'exec cat "$(readlink -f $(dirname $0)/tools/emnm).py"',
    };
    for (const [name, line] of Object.entries(launchers)) {
      writeFileSync(join(here, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    }
    writeFileSync(join(here, "emcc.py"), "first");
    writeFileSync(join(here, "tools", "emnm.py"), "second");
    const outputs = () =>
      Object.keys(launchers).map(
        (name) => spawnSync(join(here, name), { encoding: "utf8" }).stdout,
      );
    assert.deepEqual(outputs(), ["", ""]);
    quoteLaunchers(here);
    assert.deepEqual(outputs(), ["first", "second"]);
  });
});

describe("The areas of a change", () => {
  it("are the areas of its files", () => {
    assert.deepEqual(areasOf(["README.md", "web/index.html"]), ["docs", "page"]);
    assert.deepEqual(areasOf(["src/js/index.ts", "tests/js/a.test.mjs"]), ["js"]);
    assert.deepEqual(areasOf(["src/core/quantize.cpp"]), ["native"]);
    assert.deepEqual(areasOf(["scripts/checks/size.mjs", "scripts/test/engines.mjs"]), ["js"]);
    assert.deepEqual(areasOf(["tests/web/threads.test.mjs", "tests/web/serve.mjs"]), ["js"]);
    assert.deepEqual(areasOf(["tests/web/page.mjs", "tests/web/cells/output.test.mjs"]), ["page"]);
  });

  it("are all for builds, fuzzers, bindings, vectors and an empty list of files", () => {
    for (const file of [
      "scripts/build/build.mjs",
      "scripts/test/fuzz.mjs",
      "src/bindings/quantize.cpp",
      "tests/vectors/a.json",
    ]) {
      assert.deepEqual(areasOf(["README.md", file]), ["all"]);
    }
    assert.deepEqual(areasOf([]), ["all"]);
  });

  it("run the package in all bundlers only where its loading may have changed", () => {
    for (const file of [
      "package.json",
      "src/js/core/load.ts",
      "src/js/cli/main.ts",
      "CMakeLists.txt",
    ]) {
      assert.equal(needsMatrix([file]), true, file);
    }
    assert.equal(needsMatrix(["README.md"]), false);
    assert.equal(needsMatrix(["src/js/nn/convert.ts", "src/core/range.cpp"]), false);
  });

  it("run all tests of the page only where it or its imports may have changed", () => {
    for (const file of [
      "web/main.ts",
      "tests/web/page.mjs",
      "src/js/nn/convert.ts",
      "src/kernels/dot.cpp",
      "include/zeropoint/range.h",
      "package.json",
    ]) {
      assert.equal(needsWholePage([file]), true, file);
    }
    const others = ["README.md", "src/js/cli/main.ts", "tests/js/layers.test.mjs"];
    assert.equal(needsWholePage([...others, "scripts/checks/size.mjs"]), false);
  });
});

describe("The subjects of commits", () => {
  it("are areas of CONTRIBUTING.md and an imperative sentence", () => {
    for (const area of ["core", "js", "web", "docs"]) assert.ok(listedAreas().includes(area), area);
    const subjects = [
      "core: Add search.h, bounds of scores from codes, and exact scores",
      "web, tests: Count a notebook's cells",
      "js: Pass the signal on",
      "build: Embed the core",
    ];
    for (const subject of subjects) assert.equal(problemOf(subject), undefined, subject);
    checkSubjects(subjects);
  });

  for (const [subject, problem] of [
    ["Ship binaries", /does not begin with an area/],
    ["core:Add search.h", /does not begin with an area/],
    ["fixup! core: Add search.h", /does not begin with an area/],
    ["misc: Add search.h", /area "misc"/],
    ["web, misc: Add search.h", /area "misc"/],
    ["core: add search.h", /no capital/],
    ["core: Adds search.h", /"Adds" where an imperative/],
    ["core: Added search.h", /"Added" where an imperative/],
    ["core: Adding search.h", /"Adding" where an imperative/],
    ["core: Add search.h.", /full stop/],
  ]) {
    it(`are refused otherwise: ${subject}`, () => {
      assert.throws(() => checkSubjects(["js: Load it", subject]), problem);
    });
  }
});

describe("Test files", () => {
  /** Writes test files and runs them: the printed lines, and the error. */
  async function runAll(sources, settings) {
    const files = Object.entries(sources).map(([name, body]) => {
      const path = join(folder, `${name}.test.mjs`);
      writeFileSync(path, `import { it } from "node:test";\n${body}\n`);
      return relative(root, path);
    });
    const { log } = console;
    const lines = [];
    console.log = (line) => lines.push(line);
    try {
      await runTestFiles(files, { name: "", ...settings });
      return { lines };
    } catch (error) {
      return { lines, error };
    } finally {
      console.log = log;
    }
  }

  it("are ended after their time limit, and fail by name", async () => {
    const { lines, error } = await runAll(
      {
        busy: 'it("computes for ever", () => { for (;;); });',
        idle: 'it("waits for ever", () => new Promise(() => setInterval(() => {}, 1000)));',
        good: 'it("passes", () => {});',
      },
      { seconds: 5 },
    );
    assert.match(error.message, /^failed: .*(busy|idle)\.test\.mjs, .*(busy|idle)\.test\.mjs$/);
    for (const name of ["busy", "idle"]) {
      const line = new RegExp(`✖ .*${name}\\.test\\.mjs: stopped: .* limit of 5 s`);
      assert.ok(
        lines.some((text) => line.test(text)),
        lines.join("\n"),
      );
    }
    assert.ok(lines.some((text) => /✔ .*good\.test\.mjs: 1 passed/.test(text)));
  });

  it("fail with their whole output if a test fails, and fail if they contain no tests", async () => {
    const { lines, error } = await runAll({
      bad: 'it("fails", () => { console.log("a hint"); throw new Error("a reason"); });',
      empty: "",
    });
    assert.match(error.message, /bad\.test\.mjs/);
    assert.match(error.message, /empty\.test\.mjs/);
    assert.match(lines.join("\n"), /a hint[\s\S]*a reason/);
  });

  it("pass and are named if they or their processes take more CPU-seconds than their budget", {
    skip: process.platform !== "linux",
  }, async () => {
    const compute =
      "const used = () => Object.values(process.cpuUsage()).reduce((a, b) => a + b);" +
      "while (used() < 1.2e6) Array.from({ length: 1e5 }, (_, i) => i);";
    const { lines, error } = await runAll(
      {
        own: `it("computes", () => { ${compute} });`,
        child: `import { execFileSync } from "node:child_process";
          it("computes", () => { execFileSync(process.execPath, ["-e", ${JSON.stringify(compute)}]); });`,
        waiting: 'it("waits", () => new Promise((done) => setTimeout(done, 1500)));',
      },
      { budget: 0.8 },
    );
    assert.equal(error, undefined);
    const over = lines.filter((line) => line.startsWith("OVER BUDGET: "));
    assert.equal(over.length, 2, lines.join("\n"));
    for (const name of ["own", "child"]) {
      const line = new RegExp(`/${name}\\.test\\.mjs: 1\\.\\d of 0\\.8 CPU-seconds$`);
      assert.ok(
        over.some((text) => line.test(text)),
        over.join("\n"),
      );
    }
  });
});
