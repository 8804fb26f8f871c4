// The package and the page under the strictest policy: no evaluation of text, no foreign requests, no blob:
// addresses, every script address through a trusted-types policy.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  launchBrowser,
  openNotebook,
  openPage,
  readCells,
  runAll,
  serveSite,
  waitFor,
} from "./page.mjs";
import { STRICT_POLICY, servePackage } from "./serve.mjs";
import { waitForFigures } from "./site/views.mjs";

let browser;
before(async () => {
  browser = await launchBrowser();
});
after(() => browser?.close());

/** Opens the package's page that runs a script, and records violations of the policy from its start on. */
function openScript(site, script) {
  const address = `${site.origin}/page?script=/tests/web/in-browser/${script}`;
  const prepare = () => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => {
      window.violations.push(`${effectiveDirective} ${blockedURI}`);
    });
  };
  return openPage(browser, address, { isLive: false, prepare });
}
const violations = (page) => page.evaluate(() => window.violations);

/** Checks that a deliberate violation on the package's page is reported, and nothing else. */
async function seesViolation(site, name, expected) {
  const visit = await openScript(site, "forbidden.js");
  const { page } = visit;
  const used = await page.evaluate(() => globalThis.finished);
  assert.ok(used.codes, used.error);
  assert.deepEqual(await violations(page), []);
  // Run it as the page's code: no policy applies to code that the test evaluates.
  await page.evaluate((what) => {
    setTimeout(globalThis.forbidden[what]);
  }, name);
  await waitFor(page, () => window.violations.length > 0);
  assert.deepEqual(await violations(page), [expected]);
  await visit.close();
}

describe("The package under the strict policy", () => {
  let site;
  let visit;
  let page;
  before(async () => {
    site = await servePackage({ policy: STRICT_POLICY });
    visit = await openScript(site, "package-page.js");
    ({ page } = visit);
  });
  after(async () => {
    await visit?.close();
    await site?.close();
  });

  it("applies: every response carries the policy, word for word", async () => {
    for (const path of ["/page?script=x", "/dist/index.js", "/dist/core/init.js"]) {
      const { headers } = await fetch(site.origin + path);
      assert.equal(
        headers.get("content-security-policy"),
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; " +
          "require-trusted-types-for 'script'; trusted-types zeropoint",
        path,
      );
    }
  });

  it("computes the same results as elsewhere", async () => {
    const used = await page.evaluate(() => globalThis.finished);
    assert.equal(used.error, 1.8084441423416138, used.error);
    assert.deepEqual(used.codes, [33, -2, 127, 40, 127, -79, 0, 127, 46]);
    assert.equal(used.y, "tensor([2353.1731,  134.6260, 2116.0959])");
    assert.deepEqual(used.other, ["baseline", 2, 33, -2, 127, 16, 52, -32, 0, 119, 43]);
    assert.equal(used.scale, Math.fround(191.6) / 127);
  });

  it("violates no directive", async () => {
    await page.evaluate(() => globalThis.finished);
    assert.deepEqual(await violations(page), []);
  });

  /** For each entry of in-browser/forbidden.js, the violated directive and the blocked source. */
  const FORBIDDEN = {
    "evaluating text": "require-trusted-types-for trusted-types-sink",
    "a function made of text": "require-trusted-types-for trusted-types-sink",
    "a script's address as a string": "require-trusted-types-for trusted-types-sink",
    "a worker's address as a string": "require-trusted-types-for trusted-types-sink",
    "another policy of trusted types": "trusted-types trusted-types-policy",
    "a worker made of text": "require-trusted-types-for trusted-types-sink",
    "a request to elsewhere": "connect-src http://127.0.0.2:9/",
  };
  for (const [name, expected] of Object.entries(FORBIDDEN)) {
    it(`reports the deliberate violation: ${name}`, () => seesViolation(site, name, expected));
  }
});

describe("The package under the same policy without trusted types", () => {
  let site;
  before(async () => {
    site = await servePackage({
      policy: "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'",
    });
  });
  after(() => site?.close());

  const FORBIDDEN = {
    "evaluating text": "script-src eval",
    "a function made of text": "script-src eval",
    "a worker made of text": "worker-src blob",
  };
  for (const [name, expected] of Object.entries(FORBIDDEN)) {
    it(`reports the deliberate violation: ${name}`, () => seesViolation(site, name, expected));
  }
});

describe("The package under a policy that forbids WebAssembly", () => {
  it("says so", async () => {
    const site = await servePackage({ policy: "default-src 'self'" });
    const visit = await openScript(site, "package-page.js");
    const { error } = await visit.page.evaluate(() => globalThis.finished);
    assert.match(error, /ZP_LOAD_FAILED|could not be loaded/);
    await visit.close();
    await site.close();
  });
});

describe("The page under the strict policy", () => {
  let site;
  before(async () => {
    // Only the cell runner may evaluate text, because it runs the reader's code.
    site = await serveSite({
      headers: { "content-security-policy": STRICT_POLICY },
      lenient: /\/worker-[^/]*\.js$/,
    });
  });
  after(() => site?.close());

  it("serves everything except the cell runner with it", async () => {
    const visit = await openPage(browser, site.url);
    const urls = await visit.page.evaluate(() => [
      location.href,
      ...performance.getEntriesByType("resource").map(({ name }) => name),
    ]);
    await visit.close();
    assert.ok(urls.length > 3);
    for (const url of urls) {
      const policy = (await fetch(url)).headers.get("content-security-policy");
      assert.equal(policy, /\/worker-/.test(url) ? null : STRICT_POLICY, url);
    }
  });

  it("includes the policy in its HTML, too, for any host", async () => {
    const visit = await openPage(browser, site.url);
    const own = await visit.page.$$eval('meta[http-equiv="Content-Security-Policy"]', (metas) =>
      metas.map((meta) => meta.content).join("; "),
    );
    // default-src does not cover these two.
    const more = "base-uri 'none'; form-action 'none'; require-trusted-types-for";
    assert.equal(own, STRICT_POLICY.replace("require-trusted-types-for", more));
    await visit.close();
  });

  it("keeps it on every route, before and after a run of all cells", async () => {
    const visit = await openPage(browser, site.url);
    const { page } = visit;
    const routes = await page.$$eval(".view", (views) => views.map(({ id }) => id));
    assert.ok(routes.length >= 7, routes.join());
    for (const route of routes) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, route);
      await page.waitForSelector(`[id="${route}"][data-current]`);
      const isNotebook = await page.$eval(`[id="${route}"]`, (view) =>
        view.classList.contains("notebook"),
      );
      if (isNotebook) {
        await openNotebook(page, route);
        await runAll(page);
        const cells = await readCells(page);
        assert.ok(cells.length > 0 && cells.every(({ state }) => state === "done"), route);
      }
      await waitForFigures(page);
      assert.deepEqual(await visit.problems(), [], route);
    }
    await visit.close();
  });

  it("lets the page evaluate nothing, and reports an attempt", async () => {
    const visit = await openPage(browser, site.url);
    const thrown = await visit.page.evaluate(() => {
      try {
        const script = document.createElement("script");
        script.textContent = "window.evaluated = true";
        document.head.append(script);
        return "nothing";
      } catch (error) {
        return error.name;
      }
    });
    assert.equal(thrown, "TypeError");
    assert.equal(await visit.page.evaluate(() => window.evaluated), undefined);
    assert.match((await visit.problems()).join("\n"), /require-trusted-types-for/);
    await visit.close();
  });
});
