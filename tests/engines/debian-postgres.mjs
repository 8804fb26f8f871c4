// PostgreSQL with pgvector of a newer Debian, unpacked into the cache folder.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { isDebian } from "../../scripts/process/run.mjs";
import { cacheFolder } from "../../scripts/toolchain/cache.mjs";
import { unpackDebian } from "../../scripts/toolchain/debian.mjs";

const SUITE = "sid";
const VERSION = 18;
const PACKAGES = ["dash", `postgresql-${VERSION}`, `postgresql-${VERSION}-pgvector`];
const folder = join(cacheFolder(), `postgresql-debian-${SUITE}`);
/** The user that the programs run as: PostgreSQL refuses root. */
const USER = 1000;

/** A file written last: a folder without it belongs to an interrupted installation. */
const complete = join(folder, ".zeropoint-complete");

async function unpack() {
  if (existsSync(complete)) return;
  rmSync(folder, { recursive: true, force: true });
  console.log(`Unpacking ${PACKAGES.join(", ")} of Debian ${SUITE} into ${folder}`);
  const downloads = join(folder, "apt");
  await unpackDebian(SUITE, PACKAGES, downloads, folder);
  rmSync(downloads, { recursive: true });
  for (const name of ["bin", "sbin", "lib", "lib64"]) {
    if (!existsSync(join(folder, name))) symlinkSync(`usr/${name}`, join(folder, name));
  }
  if (!existsSync(join(folder, "bin", "sh"))) symlinkSync("dash", join(folder, "bin", "sh"));
  writeFileSync(join(folder, "etc", "passwd"), `test:x:${USER}:${USER}::/:/bin/sh\n`);
  mkdirSync(join(folder, "dev"), { recursive: true });
  // initdb sends what the server says there.
  writeFileSync(join(folder, "dev", "null"), "");
  chmodSync(join(folder, "dev", "null"), 0o666);
  writeFileSync(complete, "");
}

/**
 * Makes a database, the folder as its root: only for root on a Debian.
 * @returns `write`, which puts a file into the database's folder; `run`, which runs SQL in the server's single-user mode
 *   and reads the text files that it names; and `end`; undefined where that is not possible
 */
export async function providePostgres() {
  if (!isDebian() || process.getuid?.() !== 0) return undefined;
  await unpack();
  const place = mkdtempSync(join(folder, "database-"));
  chownSync(place, USER, USER);
  const inside = place.slice(folder.length);
  const start = (program, args, input = "") => {
    const path = `/usr/lib/postgresql/${VERSION}/bin/${program}`;
    const all = [`--userspec=${USER}:${USER}`, folder, path, ...args];
    const { status, stdout, stderr } = spawnSync("chroot", all, { input, encoding: "utf8" });
    if (status !== 0 || /ERROR|FATAL/.test(stderr))
      throw new Error(`${program}: ${stderr}${stdout}`);
  };
  const data = `${inside}/data`;
  const options = ["-U", "test", "--no-sync", "--no-instructions", "-E", "UTF8", "--locale=C"];
  start("initdb", ["-D", data, ...options]);
  return {
    path: (name) => `${inside}/${name}`,
    write(name, bytes) {
      writeFileSync(join(place, name), bytes);
    },
    run(sql, results) {
      // A statement ends with its line.
      start("postgres", ["--single", "-F", "-D", data, "postgres"], `${sql.join("\n")}\n`);
      return results.map((name) => readFileSync(join(place, name), "utf8"));
    },
    end: () => rmSync(place, { recursive: true, force: true }),
  };
}
