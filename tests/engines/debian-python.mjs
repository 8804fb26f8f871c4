// Python with safetensors, NumPy and faiss of a newer Debian, unpacked into the cache folder.

import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture, isDebian } from "../../scripts/process/run.mjs";
import { cacheFolder } from "../../scripts/toolchain/cache.mjs";
import { filesIn, unpackDebian } from "../../scripts/toolchain/debian.mjs";

const SUITE = "sid";
const folder = join(cacheFolder(), `python-debian-${SUITE}`);
const PACKAGES = ["python3-safetensors", "python3-numpy", "python3-faiss"];

/** A file written last: a folder without it belongs to an interrupted installation. */
const complete = join(folder, ".zeropoint-complete");

/**
 * Installs Python and the packages, the first time.
 * @returns a function that runs a script and gives what it prints; undefined where there is no Debian
 */
export async function providePython() {
  if (!isDebian()) return undefined;
  if (!existsSync(complete)) {
    rmSync(folder, { recursive: true, force: true });
    console.log(`Unpacking ${PACKAGES.join(", ")} of Debian ${SUITE} into ${folder}`);
    const downloads = join(folder, "apt");
    await unpackDebian(SUITE, PACKAGES, downloads, folder);
    rmSync(downloads, { recursive: true });
    writeFileSync(complete, "");
  }
  const usr = join(folder, "usr");
  const isLibraries = (name) => /-linux-gnu/.test(name);
  const libraries = join(usr, "lib", readdirSync(join(usr, "lib")).find(isLibraries));
  // The program is started by the loader of its own C library.
  const [loader] = filesIn(libraries, /^ld-linux.*\.so\.\d+$/);
  const [python] = filesIn(join(usr, "bin"), /^python3\.\d+$/);
  const places = [libraries, join(libraries, "blas"), join(libraries, "lapack")].join(":");
  const env = { PYTHONHOME: usr, PYTHONPATH: join(usr, "lib", "python3", "dist-packages") };
  return (script, cwd) =>
    capture(loader, ["--library-path", places, python, "-c", script], {
      ...{ cwd, env, timeout: 120_000 },
    });
}
