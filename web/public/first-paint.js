// Runs before anything is drawn, so that a chosen theme does not flash. The rest is in theme.js.
try {
  const theme = localStorage.getItem("zeropoint-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden: then the system's theme it is.
}
