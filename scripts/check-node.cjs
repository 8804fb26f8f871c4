// Ends a command at once on a Node version that cannot run it. Written in old JavaScript, so that old versions
// can parse it: `node -r ./scripts/check-node.cjs <script>` runs it before the script is parsed.

var version = process.versions.node.split(".").map(Number);
var found = process.versions.node + " (" + process.execPath + ")";
if (version[0] < 20 || (version[0] === 20 && version[1] < 16)) {
  console.error("zeropoint: Node 20.16 or newer is needed, this is " + found);
  process.exit(1);
}
