// Runs before anything is drawn: the reader's theme is the one chosen on the other pages, and choosing
// one here chooses it there.
try {
  const chosen = localStorage.getItem("zeropoint-theme");
  const theme = chosen === "light" || chosen === "dark" ? chosen : "os";
  localStorage.setItem("tsd-theme", theme);
  document.documentElement.dataset.theme = theme;
  document.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLSelectElement) || target.id !== "tsd-theme") return;
    if (target.value === "os") localStorage.removeItem("zeropoint-theme");
    else localStorage.setItem("zeropoint-theme", target.value);
  });
} catch {
  // Storage may be forbidden: then the system's theme it is.
  document.documentElement.dataset.theme = "os";
}
