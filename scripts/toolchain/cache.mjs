// The user's cache folder, shared by all checkouts of one user.

import { homedir } from "node:os";
import { join } from "node:path";

/** The folder for downloads that can be repeated, by the convention of each system. */
export function cacheFolder({ env = process.env, platform = process.platform } = {}) {
  const home = homedir();
  const parent = {
    darwin: join(home, "Library", "Caches"),
    win32: env.LOCALAPPDATA || join(home, "AppData", "Local"),
  }[platform];
  // XDG Base Directory specification: ignore a relative path.
  const xdg = env.XDG_CACHE_HOME?.startsWith("/") ? env.XDG_CACHE_HOME : join(home, ".cache");
  return join(parent ?? xdg, "zeropoint");
}
