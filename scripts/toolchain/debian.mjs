// Unpacks packages of another Debian release into a folder. Neither reads nor changes the packages of the system.

import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture, Failure, follow, run, sideBySide } from "../process/run.mjs";

/** The files of a folder whose name matches; without links. */
export function filesIn(folder, pattern) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => join(folder, entry.name));
}

/** The package site of this Debian, from apt's settings. */
function debianSite() {
  const targets = capture("apt-get", ["indextargets", "--format", "$(RELEASE) $(SITE)"]).stdout;
  const line = targets
    .split("\n")
    .find((line) => line && !/-(security|updates|backports)/.test(line));
  return line?.split(" ")[1];
}

/**
 * Downloads packages with all their dependencies, the C library included, by apt with a separate state folder.
 * @returns the files of the packages
 */
async function download(suite, packages, folder) {
  const site = debianSite();
  if (!site) throw new Failure("apt knows no site to download from");
  for (const path of ["lists/partial", "cache/archives/partial"]) {
    mkdirSync(join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, "status"), "");
  const keyring = ["gpg", "pgp"]
    .map((ending) => `/usr/share/keyrings/debian-archive-keyring.${ending}`)
    .find(existsSync);
  const signed = keyring ? `[signed-by=${keyring}] ` : "";
  writeFileSync(join(folder, "sources.list"), `deb ${signed}${site} ${suite} main\n`);
  // A configuration file, because some command-line options split a folder's name at spaces.
  const settings = {
    "Dir::Etc::sourcelist": join(folder, "sources.list"),
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::State::status": join(folder, "status"),
    "Dir::State::lists": join(folder, "lists"),
    "Dir::Cache": join(folder, "cache"),
    "APT::Install-Recommends": "0",
    "APT::Sandbox::User": "root",
    "Acquire::Languages": "none",
  };
  const config = join(folder, "apt.conf");
  const lines = Object.entries(settings).map(([name, value]) => `${name} "${value}";\n`);
  writeFileSync(config, lines.join(""));
  const env = { APT_CONFIG: config };
  await run("apt-get", ["-q", "-o", "APT::Update::Error-Mode=any", "update"], { env });
  await run("apt-get", ["-q", "install", "-y", "--download-only", ...packages], { env });
  return filesIn(join(folder, "cache", "archives"), /\.deb$/);
}

/**
 * Downloads packages of a release with their dependencies, and unpacks them.
 * @param {string} suite  the release
 * @param {string[]} packages
 * @param {string} downloads  a folder for apt's state and the packages
 * @param {string} target  the folder that becomes their root
 */
export async function unpackDebian(suite, packages, downloads, target) {
  const unpack = (archive) => [
    archive,
    async () => {
      const { ok, output } = await follow("dpkg-deb", ["--extract", archive, target]);
      if (!ok) throw new Failure(`dpkg-deb ${archive}: ${output}`);
    },
  ];
  await sideBySide((await download(suite, packages, downloads)).map(unpack));
}
