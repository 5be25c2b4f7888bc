// ---- heat map: pages of topics × the brokers in scope, or groups of them
const heat = data.heat, heatTable = byId("heat"), TOPICS_AT_ONCE = heat.rows;
const heatTopics = await unpack(heat.topics);
const counts = { before: await unpack(heat.before), after: await unpack(heat.after) };
const restCounts = { before: await unpack(heat.rest_before), after: await unpack(heat.rest_after) };
const B = ids.length, usableCount = Math.max(1, usable.length);
const totals = new Float64Array(heatTopics.length), moving = new Float64Array(heatTopics.length);
const whole = { before: Float64Array.from(restCounts.before), after: Float64Array.from(restCounts.after) };
for (let t = 0, cell = 0; t < heatTopics.length; t += 1) {
  for (let b = 0; b < B; b += 1, cell += 1) {
    const old = counts.before[cell], now = counts.after[cell];
    totals[t] += now;
    moving[t] += Math.abs(now - old);
    whole.before[b] += old;
    whole.after[b] += now;
  }
}
const grand = whole.after.reduce((a, b) => a + b, 0);
const heatRows = Array.from(heatTopics, (_, t) => t);  // largest first
const heatOrders = {
  largest: heatRows,
  change: [...heatRows].sort((a, b) => moving[b] - moving[a] || a - b),
  name: [...heatRows].sort((a, b) => heatTopics[a] - heatTopics[b]),
};
let heatWhat = document.querySelector('[data-choice="heat"] input:checked').value, heatPage = 0;

const level = (n, fair) => (n === 0 ? 0 : Math.min(8, Math.max(1, Math.floor((4 * n) / Math.max(fair, 1) + 0.5))));
function heatColumns() {
  if (scope.positions.length <= AT_ONCE) return scope.positions.map((p) => ({ text: ids[p], positions: [p], status: data.brokers.status[p] }));
  if (scope === scopes[0] && members.length > 1 && members.length <= AT_ONCE) {
    const found = members.map((positions, k) => ({ text: data.racks[k], positions, to: scopes.find((s) => s.rack === k) }));
    return withoutRack.length ? [...found, { text: "no rack", positions: withoutRack }] : found;
  }
  return neighbours(scope.positions, AT_ONCE).map((positions) => ({ text: idRange(positions), positions, to: around(positions[0]) }));
}
function heatCell(old, now, fair) {
  const cell = element("td"), diff = now - old;
  if (heatWhat === "change") {
    const step = Math.min(3, Math.ceil((3 * Math.abs(diff)) / Math.max(fair, 1)));
    cell.textContent = diff > 0 ? `+${diff}` : diff < 0 ? `−${-diff}` : "·";
    cell.className = diff ? (diff > 0 ? "p" : "m") + step : "h0";
  } else {
    const n = heatWhat === "before" ? old : now;
    cell.textContent = n;
    cell.className = `h${level(n, fair)}`;
  }
  return cell;
}
function drawHeat() {
  const words = byId("heat-search").value.trim().toLowerCase();
  let rows = heatOrders[byId("heat-order").value];
  if (words) rows = rows.filter((t) => data.topics[heatTopics[t]].toLowerCase().includes(words));
  heatPage = Math.max(0, Math.min(heatPage, Math.ceil(rows.length / TOPICS_AT_ONCE) - 1));
  const start = heatPage * TOPICS_AT_ONCE, shown = rows.slice(start, start + TOPICS_AT_ONCE), columns = heatColumns();
  const present = columns.map((c) => c.positions.filter((p) => isUsable.has(p)).length);
  const line = (name, of, total) => {
    const row = element("tr"), head = element("th", name);
    head.scope = "row";
    head.title = name;
    const fair = total / usableCount;
    row.append(head, ...columns.map((c, i) => {
      let old = 0, now = 0;
      for (const p of c.positions) { old += of("before", p); now += of("after", p); }
      return heatCell(old, now, fair * present[i]);
    }));
    return row;
  };
  const lines = shown.map((t) => line(data.topics[heatTopics[t]], (when, p) => counts[when][t * B + p], totals[t]));
  const others = heatTopics.length + heat.rest - shown.length;
  if (others && !words) {
    const visible = shown.reduce((sum, t) => sum + totals[t], 0);
    lines.push(line(plural(others, "other topic"), (when, p) => shown.reduce((sum, t) => sum - counts[when][t * B + p], whole[when][p]), grand - visible));
  }
  const headings = element("tr"), corner = element("th", "Topic");
  corner.scope = "col";
  headings.append(corner, ...columns.map((c) => {
    const head = element("th", c.to ? undefined : c.text, c.status);
    head.scope = "col";
    if (c.status) head.title = c.status;
    if (c.to) {
      const open = element("button", c.text, "open");
      open.type = "button";
      open.title = `show ${c.to.label}`;
      open.addEventListener("click", () => {
        setScope(c.to);
        document.querySelector('section[aria-labelledby="topics"] .scope').focus();
      });
      head.append(open);
    }
    return head;
  }));
  heatTable.style.setProperty("--columns", columns.length);
  heatTable.classList.toggle("dense", columns.length > 20 && columns.every((c) => c.positions.length === 1));
  heatTable.tHead.replaceChildren(headings);
  heatTable.tBodies[0].replaceChildren(...lines);
  byId("heat-state").textContent = { before: "before the plan", after: "after the plan", change: "changes by the plan" }[heatWhat];
  byId("heat-scale").hidden = heatWhat === "change";
  byId("change-scale").hidden = heatWhat !== "change";
  byId("heat-shown").textContent = rows.length
    ? `${shown.length === rows.length ? "" : `${count(start + 1)}–${count(start + shown.length)} of `}${plural(rows.length, "topic")}`
      + (ids.length > AT_ONCE ? ` × ${scope === scopes[0] ? "all brokers" : scope.label}` : "")
    : "no topic matches";
  byId("heat-previous").disabled = heatPage === 0;
  byId("heat-next").disabled = start + shown.length >= rows.length;
  byId("heat-pages").hidden = rows.length <= TOPICS_AT_ONCE;
}
document.querySelector('[data-choice="heat"]').addEventListener("change", (event) => { heatWhat = event.target.value; drawHeat(); });
byId("heat-search").addEventListener("input", () => { heatPage = 0; drawHeat(); });
byId("heat-order").addEventListener("change", () => { heatPage = 0; drawHeat(); });
byId("heat-previous").addEventListener("click", () => { heatPage -= 1; drawHeat(); });
byId("heat-next").addEventListener("click", () => { heatPage += 1; drawHeat(); });
