// ---- waves: their duration at another throttle, and when each is done
if (data.waves) {
  const { busiest } = data.waves, rows = byId("waves-table").querySelectorAll("tr[data-wave]");
  const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const timeWaves = () => {
    const throttle = byId("throttle").valueAsNumber * 1e6, start = byId("start").value ? new Date(byId("start").value) : null;
    const known = throttle > 0;
    const seconds = busiest.map((bytes) => Math.ceil(bytes / throttle));
    let after = 0;
    const done = seconds.map((time) => (after += time));
    for (const row of rows) {
      const i = Number(row.dataset.wave), cells = row.cells, last = cells.length - 1;
      cells[last - 1].textContent = known ? duration(seconds[i]) : "–";
      cells[last].textContent = !known ? "–" : start ? day.format(new Date(start.getTime() + 1000 * done[i])) : duration(done[i]);
    }
    byId("done").textContent = start ? "Done at" : "Done after";
    const end = start && known ? `, done ${day.format(new Date(start.getTime() + 1000 * after))}` : "";
    byId("waves-time").textContent = known ? `, about ${duration(after)}${end}` : "";
  };
  for (const id of ["throttle", "start"]) byId(id).addEventListener("input", timeWaves);
}
