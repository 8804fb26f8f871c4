// llama.cpp's programs of a newer Debian, unpacked into the cache folder.

import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture, isDebian } from "../../scripts/process/run.mjs";
import { cacheFolder } from "../../scripts/toolchain/cache.mjs";
import { filesIn, unpackDebian } from "../../scripts/toolchain/debian.mjs";

const SUITE = "sid";
const folder = join(cacheFolder(), `llama.cpp-debian-${SUITE}`);

/** A file written last: a folder without it belongs to an interrupted installation. */
const complete = join(folder, ".zeropoint-complete");

/**
 * Installs llama.cpp's programs, the first time.
 * @returns a function that runs one of them in a folder; undefined where there is no Debian
 */
export async function provideLlamaCpp() {
  if (!isDebian()) return undefined;
  if (!existsSync(complete)) {
    rmSync(folder, { recursive: true, force: true });
    console.log(`Unpacking llama.cpp-tools of Debian ${SUITE} into ${folder}`);
    const downloads = join(folder, "apt");
    await unpackDebian(SUITE, ["llama.cpp-tools"], downloads, folder);
    rmSync(downloads, { recursive: true });
    writeFileSync(complete, "");
  }
  const usr = join(folder, "usr");
  const libraries = join(
    usr,
    "lib",
    readdirSync(join(usr, "lib")).find((name) => /-linux-gnu/.test(name)),
  );
  // The programs are started by the loader of their own C library.
  const [loader] = filesIn(libraries, /^ld-linux.*\.so\.\d+$/);
  const places = [libraries, join(libraries, "ggml"), join(libraries, "llama")].join(":");
  const backends = join(libraries, "ggml", "backends0");
  const backend = readdirSync(backends).find((name) => /cpu-x64|cpu\.so|armv8\.0/.test(name));
  const env = backend ? { GGML_BACKEND_PATH: join(backends, backend) } : {};
  return (program, args, cwd) => {
    const command = ["--library-path", places, join(usr, "bin", program), ...args];
    return capture(loader, command, { cwd, env, timeout: 120_000 });
  };
}
