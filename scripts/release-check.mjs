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
import { capture, Failure, root, run, runAsScript, step, tally, which } from "./run.mjs";

const HELP = `
npm run release-check [-- part ...]

Runs the named parts; without a name all of them. Needs Debian's debootstrap and root.

  debian12 debian13   npm start and npm test of the last commit, in a bare system made with debootstrap with
                      git, Node and npm: as root, then as a user; in a folder named "zero point ä"
  compilers           the native code without warnings, in both systems: GCC and Clang of each
  thorough            on this machine: all tests in every build and engine, sanitizers, valgrind, fuzzing,
                      and a second build of the same bytes

Times are printed at the end and written to build/release-check.json.
`;

const FOLDER = "zero point ä";
const SYSTEMS = {
  debian12: { suite: "bookworm", clang: "clang-14" },
  debian13: { suite: "trixie", clang: "clang-19" },
};
const roots = join(root, "build", "roots");

/** Minutes after which a command in a bare system counts as hung. */
const LIMIT = 90;

const times = [];

/** Runs a step and records its time. */
async function timed(title, work) {
  const start = performance.now();
  try {
    return await step(title, work);
  } finally {
    times.push({ title, seconds: Math.round((performance.now() - start) / 1000) });
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
  await timed(`${name}: debootstrap`, () =>
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
  await timed(`${name}: git, Node and npm`, () =>
    runInRoot(base, script, { log: join(roots, `${suite}-base.log`) }),
  );
  writeFileSync(stamp, "");
  return base;
}

/** Removes a system, but never anything mounted in it. */
const remove = (folder) => run("rm", ["-rf", "--one-file-system", folder]);

/** A fresh copy of a bare system, with a clone of the last commit for a user. */
async function freshSystem(base, copy) {
  await remove(copy);
  await run("cp", ["-a", "--reflink=auto", base, copy]);
  for (const home of ["root", "home/tester"]) {
    await run("git", ["clone", "-q", "--no-hardlinks", root, join(copy, home, FOLDER)]);
  }
  await run("chown", [
    "-R",
    "--reference",
    join(copy, "home", "tester"),
    join(copy, "home", "tester", FOLDER),
  ]);
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

async function checkSystem(name, { suite }, { attempt }) {
  const base = await bareSystem(name, suite);
  const copy = join(roots, suite);
  const log = (title) => join(roots, `${suite}-${title.replaceAll(/\W+/g, "-")}.log`);
  const tryOut = (title, script, user = "root") =>
    attempt(`${name}: ${title}`, () =>
      timed(`${name}: ${title}`, () => runInRoot(copy, script, { user, log: log(title) })),
    );
  await freshSystem(base, copy);
  await tryOut("npm start, cold", START);
  await tryOut("npm start, warm", START);
  await freshSystem(base, copy);
  await tryOut("npm test, fresh clone", `${ENTER} && npm test`);
  await tryOut("npm test, warm", `${ENTER} && npm test`);
  await tryOut("npm start as a user, cold", START, "tester");
  await tryOut("npm test as a user", `${ENTER} && npm test`, "tester");
}

/** Builds the native code, with warnings as errors, with the compilers of both systems. */
async function checkCompilers({ attempt }) {
  for (const [name, { suite, clang }] of Object.entries(SYSTEMS)) {
    const base = await bareSystem(name, suite);
    const copy = join(roots, `${suite}-compilers`);
    await freshSystem(base, copy);
    const packages = `g++ ${clang} cmake ninja-build libgtest-dev libsimde-dev nlohmann-json3-dev`;
    const install = `apt-get -q update && apt-get -q install -y --no-install-recommends ${packages}`;
    const log = join(roots, `${suite}-compilers.log`);
    await attempt(`${name}: compilers`, () =>
      timed(`${name}: compilers`, () => runInRoot(copy, install, { log })),
    );
    for (const compiler of ["g++", clang.replace("clang", "clang++")]) {
      const folder = `build/${compiler}`;
      const script = [
        ENTER,
        `cmake --preset native -B ${folder} -DCMAKE_CXX_COMPILER=${compiler}`,
        `cmake --build ${folder}`,
        `ctest --test-dir ${folder} --parallel 2 --output-on-failure`,
      ].join(" && ");
      const title = `${name}: native code with ${compiler}`;
      const ownLog = join(roots, `${suite}-${compiler}.log`);
      await attempt(title, () => timed(title, () => runInRoot(copy, script, { log: ownLog })));
    }
    await remove(copy);
  }
}

/** All checks of this machine, in full size. */
async function checkThoroughly({ attempt }) {
  const env = { ZEROPOINT_THOROUGH: "1" };
  const commands = ["lint", "test", "check", "reproduce", "supply-chain", "fuzz -- --minutes 10"];
  for (const command of commands) {
    const title = `npm run ${command}`;
    await attempt(title, () =>
      timed(title, () => run("npm", ["run", ...command.split(" ")], { env })),
    );
  }
}

async function main(names) {
  const parts = {
    ...Object.fromEntries(
      Object.entries(SYSTEMS).map(([name, system]) => [
        name,
        (results) => checkSystem(name, system, results),
      ]),
    ),
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
  mkdirSync(join(root, "build"), { recursive: true });
  writeFileSync(join(root, "build", "release-check.json"), `${JSON.stringify(times, null, 1)}\n`);
  console.log("\nTimes in seconds:");
  for (const { title, seconds } of times) console.log(`${String(seconds).padStart(6)}  ${title}`);
  results.finish();
}

await runAsScript(import.meta.url, main, HELP);
