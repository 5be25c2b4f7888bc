// ---- load per broker
const loadNote = byId("grouped");
function drawLoads() {
  let together = 1;
  for (const load of data.loads) {
    const format = FORMAT[load.unit];
    const fair = load.unit === "count" ? tenth : format;
    const { short, name, factor } = common(most([...load.before, ...load.after]), load.unit);
    const shown = scope.positions, present = shown.filter((i) => isUsable.has(i));
    const before = range(shown.map((i) => load.before[i]), short), after = range(present.map((i) => load.after[i]), short);
    const overview = `${change(before, after)} ${name}`.trim();
    const figure = document.querySelector(`[data-load="${load.key}"]`);
    figure.querySelector("small").textContent = name;
    together = columns(figure, {
      positions: shown, wide: (i) => load.before[i], bars: (i) => load.after[i], line: (i) => load.fair[i], band: load.band && ((i) => load.band[i]), short, factor, overview,
      label: `${load.title} per broker: ${overview.replace("→", "before,")}${overview.includes("→") ? " after" : ""}`,
      describe: (i) => `${brokerName(i)}: ${change(format(load.before[i]), format(load.after[i]))}` + (load.fair[i] ? `, fair ${fair(load.fair[i])}` : "") + (load.band && load.band[i] ? `, band ${load.band[i].map(format).join("–")}` : ""),
      pick: (i) => choose(i), picked,
    });
  }
  byId("picked-key").hidden = picked < 0 || picked >= ids.length;
  if (picked >= 0 && picked < ids.length) byId("picked-key").lastChild.textContent = `broker ${ids[picked]} fails, see below`;
  loadNote.textContent = together > 1
    ? `Each bar stands for ${together} brokers and shows the fullest of them; click it to show each.`
    : "Click a bar to show below which brokers take over when that broker fails.";
}
