// npm run release-check: all checks before a release.

import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { capture, Failure, root, run, runAsScript, step, tally, which } from "../process/run.mjs";

const HELP = `
npm run release-check [-- [--resume] part ...]

Runs the named parts; without a name all of them. Needs Debian's debootstrap and root.

  debian13-root debian12-root   npm start and npm test of the last commit, as root, in a bare system made with
                                debootstrap with git, Node and npm, in a folder named "zero point ä"
  debian13-user debian12-user   the same as a user, in the system that has the packages now
  compilers                     the native code without warnings with the Clang of both systems; npm test does
                                the same with their GCC
  thorough                      on this machine: the tests of results in every build and engine, Firefox, sanitizers,
                                valgrind, fuzzing, lint of all files, and a second build of the same bytes

npm test runs whole as root in Debian 13 and as a user in Debian 12; the other two leave out the page and the native
code, so every suite still runs on both systems, and as root and as a user.
--resume leaves out the steps that passed for the same commit. Times are printed at the end and kept in
build/release-check.json.
`;

const FOLDER = "zero point ä";
const WITHOUT_PAGE = "js package";
const SYSTEMS = {
  debian13: { suite: "trixie", clang: "clang-19", suites: { root: "", user: WITHOUT_PAGE } },
  debian12: { suite: "bookworm", clang: "clang-14", suites: { root: WITHOUT_PAGE, user: "" } },
};
const roots = join(root, "build", "roots");

/** Minutes after which a command in a bare system counts as hung. */
const LIMIT = 90;

const recordsFile = join(root, "build", "release-check.json");
const commit = capture("git", ["rev-parse", "HEAD"]).stdout.trim();

/** For each step: the commit that it ran for, its seconds, and whether it passed. */
const records = existsSync(recordsFile) ? JSON.parse(readFileSync(recordsFile, "utf8")) : {};

/** The steps of this run, and whether it leaves out those that have passed. */
const titles = [];
let resumes = false;

/** Runs a step and records its time; leaves it out if it has passed for this commit and this run resumes. */
async function timed(title, work) {
  if (!titles.includes(title)) titles.push(title);
  const record = records[title];
  if (resumes && record?.passed && record.commit === commit) return;
  await always(title, work);
}

/** Runs a step and records its time. */
async function always(title, work) {
  if (!titles.includes(title)) titles.push(title);
  const start = performance.now();
  let passed = false;
  try {
    await step(title, work);
    passed = true;
  } finally {
    const seconds = Math.round((performance.now() - start) / 1000);
    records[title] = { commit, seconds, passed };
    mkdirSync(join(root, "build"), { recursive: true });
    writeFileSync(recordsFile, `${JSON.stringify(records, null, 1)}\n`);
  }
}

// ---- Bare systems --------------------------------------------------------------------------------

/** Path of this machine's certificates inside a bare system. */
const CERTIFICATES = "/opt/certificates.crt";

/** This machine's network settings: proxies, npm's registry, certificates. */
function networkEnvironment() {
  const env = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (/^(https?|ftp|all|no)_proxy$/i.test(name)) env[name] = value;
  }
  env.npm_config_registry = capture("npm", ["config", "get", "registry"]).stdout.trim();
  if (process.env.NODE_EXTRA_CA_CERTS) {
    for (const name of ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "GIT_SSL_CAINFO"]) {
      env[name] = CERTIFICATES;
    }
  }
  return env;
}

/** Quotes a text for the shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The command that runs a script in a root, with a private /proc and /dev that end with it. */
function inRoot(folder, script, { user = "root" } = {}) {
  const home = user === "root" ? "/root" : `/home/${user}`;
  const env = {
    HOME: home,
    USER: user,
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    LANG: "C.UTF-8",
    CI: "true",
    ...networkEnvironment(),
  };
  const variables = Object.entries(env).map(([name, value]) => quoted(`${name}=${value}`));
  const at = quoted(folder);
  const mounts = [
    `mount -t proc proc ${at}/proc`,
    `mount --rbind /dev ${at}/dev`,
    `exec chroot --userspec=${user}:${user} ${at} env -i ${variables.join(" ")} sh -c ${quoted(script)}`,
  ];
  return [
    "unshare",
    ["--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", mounts.join("\n")],
  ];
}

/** Runs a script in a root; its output goes to a log, whose end is printed on failure. */
async function runInRoot(folder, script, { user, log }) {
  const [command, args] = inRoot(folder, script, { user });
  const output = openSync(log, "w");
  try {
    await run("timeout", [`${LIMIT}m`, command, ...args], { stdout: output, stderr: output });
  } catch {
    const lines = readFileSync(log, "utf8").split("\n");
    throw new Failure(`${lines.slice(-40).join("\n")}\nfailed; all of it is in ${log}`);
  } finally {
    closeSync(output);
  }
}

/** This machine's apt settings for its package sites. */
function aptSettings() {
  const wanted = /^Acquire::(http|https)::Proxy|^Acquire::Check-/;
  const lines = capture("apt-config", ["dump"]).stdout.split("\n");
  return `${lines.filter((line) => wanted.test(line)).join("\n")}\n`;
}

/**
 * A system with git, Node and npm only: made once, copied for each use. Debian 12 has Node 18, so npm installs
 * the Node 20 program there.
 */
async function bareSystem(name, suite) {
  const base = join(roots, `${suite}-base`);
  const stamp = join(base, "complete");
  if (existsSync(stamp)) return base;
  await remove(base);
  mkdirSync(roots, { recursive: true });
  await always(`${name}: debootstrap`, () =>
    run("debootstrap", ["--variant=minbase", suite, base], { stdout: "ignore" }),
  );
  copyFileSync("/etc/resolv.conf", join(base, "etc", "resolv.conf"));
  copyFileSync("/etc/hosts", join(base, "etc", "hosts"));
  writeFileSync(join(base, "etc", "apt", "apt.conf.d", "90network"), aptSettings());
  const certificates = process.env.NODE_EXTRA_CA_CERTS;
  if (certificates) copyFileSync(certificates, join(base, CERTIFICATES));
  const script = [
    "set -e",
    "export DEBIAN_FRONTEND=noninteractive",
    "apt-get -q update",
    "apt-get -q install -y --no-install-recommends ca-certificates git nodejs npm",
    'case "$(node --version)" in v18.*) npm install --global node@20 ;; esac',
    "useradd --create-home tester",
  ].join("\n");
  await always(`${name}: git, Node and npm`, () =>
    runInRoot(base, script, { log: join(roots, `${suite}-base.log`) }),
  );
  writeFileSync(stamp, "");
  return base;
}

/** Removes a system, but never anything mounted in it. */
const remove = (folder) => run("rm", ["-rf", "--one-file-system", folder]);

/** A fresh copy of a bare system. */
async function freshSystem(base, copy) {
  await remove(copy);
  await run("cp", ["-a", "--reflink=auto", base, copy]);
}

/** A fresh clone of the last commit for a user of a system. */
async function freshClone(copy, home) {
  const folder = join(copy, home, FOLDER);
  await remove(folder);
  await run("git", ["clone", "-q", "--no-hardlinks", root, folder]);
  await run("chown", ["-R", "--reference", join(copy, home), folder]);
}

const ENTER = `cd ~/${quoted(FOLDER)}`;

/**
 * Runs npm start in a root until the page answers; a request for a missing file must get 404. Then kills npm;
 * the server must end with it.
 */
const START = `
set -e
${ENTER}
npm start -- --no-open --port 0 >start.log 2>&1 &
npm=$!
address=
while [ -z "$address" ]; do
  kill -0 $npm || { cat start.log; exit 1; }
  sleep 0.5
  address=$(sed -n 's/^zeropoint is at \\(http[^ ]*\\).*/\\1/p' start.log)
done
cat start.log
status() { node -e 'fetch(process.argv[1]).then((answer) => console.log(answer.status))' "$1"; }
[ "$(status "$address")" = 200 ]
[ "$(status "\${address}no/such/page")" = 404 ]
date +%s >ready
kill -9 $npm
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  sleep 1
  status "$address" 2>/dev/null | grep -q 200 || exit 0
done
echo "the server outlived npm"
exit 1
`;

/** Both commands in a bare system; as a user in the system that root's run has left, if there is one, with all packages. */
async function checkSystem(name, who, { attempt }) {
  const { suite, suites } = SYSTEMS[name];
  const base = await bareSystem(name, suite);
  const copy = join(roots, suite);
  const isRoot = who === "root";
  const user = isRoot ? "root" : "tester";
  const tryOut = (title, script, as = user) => {
    const full = `${name}, ${who}: ${title}`;
    const log = join(roots, `${full.replaceAll(/\W+/g, "-")}.log`);
    return attempt(full, () => timed(full, () => runInRoot(copy, script, { user: as, log })));
  };
  const stamp = join(copy, "complete-copy");
  if (isRoot || !existsSync(stamp)) {
    await freshSystem(base, copy);
    writeFileSync(stamp, "");
  }
  if (!isRoot) {
    // Root's run installed only the packages of the suites that it ran.
    await freshClone(copy, "root");
    const install = `${ENTER} && node scripts/toolchain/setup.mjs`;
    if (!(await tryOut("system packages", install, "root"))) return;
  }
  await freshClone(copy, isRoot ? "root" : "home/tester");
  if (!(await tryOut("npm start, cold", START))) return;
  await tryOut("npm start, warm", START);
  await tryOut(`npm test ${suites[who]}`.trim(), `${ENTER} && npm test -- ${suites[who]}`);
}

/** Builds and tests the native code, with warnings as errors, with the Clang of both systems. */
async function checkCompilers({ attempt }) {
  for (const [name, { suite, clang }] of Object.entries(SYSTEMS)) {
    const base = await bareSystem(name, suite);
    const copy = join(roots, `${suite}-compilers`);
    await freshSystem(base, copy);
    await freshClone(copy, "root");
    const packages = `g++ ${clang} cmake ninja-build libgtest-dev libsimde-dev nlohmann-json3-dev`;
    const script = [
      "apt-get -q update",
      `apt-get -q install -y --no-install-recommends ${packages}`,
      ENTER,
      `cmake --preset native -DCMAKE_CXX_COMPILER=${clang.replace("clang", "clang++")}`,
      "cmake --build --preset native",
      "ctest --preset native --parallel 2",
    ].join(" && ");
    const title = `${name}: native code with ${clang}`;
    const log = join(roots, `${suite}-${clang}.log`);
    await attempt(title, () => timed(title, () => runInRoot(copy, script, { log })));
    await remove(copy);
  }
}

/** The checks, in full size, of what npm test in the bare systems leaves out. */
async function checkThoroughly({ attempt }) {
  const env = { ZEROPOINT_THOROUGH: "1" };
  const suites = ["asan", "tsan", "valgrind", "engines", "js", "page", "firefox"];
  const commands = [
    ...suites.map((suite) => `test -- ${suite}`),
    "reproduce",
    "lint",
    "supply-chain",
    "fuzz -- --minutes 10",
  ];
  for (const command of commands) {
    const title = `npm run ${command}`;
    await attempt(title, () =>
      timed(title, () => run("npm", ["run", ...command.split(" ")], { env })),
    );
  }
}

async function main(args) {
  resumes = args.includes("--resume");
  const names = args.filter((arg) => arg !== "--resume");
  const systems = ["root", "user"].flatMap((who) =>
    Object.keys(SYSTEMS).map((name) => [
      `${name}-${who}`,
      (results) => checkSystem(name, who, results),
    ]),
  );
  const parts = {
    ...Object.fromEntries(systems),
    compilers: checkCompilers,
    thorough: checkThoroughly,
  };
  const unknown = names.find((name) => !(name in parts));
  if (unknown)
    throw new Failure(`release-check takes ${Object.keys(parts).join(", ")}, got ${unknown}`);
  const chosen = names.length > 0 ? names : Object.keys(parts);
  if (chosen.some((name) => name !== "thorough")) {
    if (process.getuid?.() !== 0)
      throw new Failure("release-check needs root, for its bare systems");
    if (!which("debootstrap")) throw new Failure("please install debootstrap");
  }
  const results = tally();
  for (const name of chosen) await results.attempt(name, () => parts[name](results));
  console.log(`\nTimes in seconds, for ${commit}:`);
  for (const title of titles) {
    const { seconds, passed } = records[title];
    console.log(`${String(seconds).padStart(6)}  ${passed ? "passed" : "FAILED"}  ${title}`);
  }
  results.finish();
}

await runAsScript(import.meta.url, main, HELP);
