// ---- show the controls, draw, and redraw when the width changes
document.querySelectorAll(".needs-script").forEach((e) => { e.hidden = false; });
if (failed === undefined) drawLoads();
else choose(failed, false);
drawHeat();
onScope.push(drawLoads, drawFailures, drawHeat);
let width = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  drawLoads();
  drawFailures();
});
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
document.documentElement.dataset.ready = "";
