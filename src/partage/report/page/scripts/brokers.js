// ---- brokers, and the scope that is shown: all, neighbouring ids, or a rack
const ids = data.brokers.id, rackOf = data.brokers.rack;
const everyone = ids.map((_, i) => i);
const usable = everyone.filter((i) => data.failure.usable[i]);
const isUsable = new Set(usable);
const brokerName = (position) => {
  const notes = [data.rack_labels[rackOf[position]], data.brokers.status[position]].filter(Boolean).join(", ");
  return `broker ${ids[position]}${notes ? ` (${notes})` : ""}`;
};
const idRange = (positions) => {
  const first = ids[positions[0]], last = ids[positions[positions.length - 1]];
  return positions.length === 1 ? String(first) : `${first}–${last}`;
};

// consecutive positions in at most that many groups
const neighbours = (positions, groups) => {
  const size = Math.max(1, Math.ceil(positions.length / groups)), found = [];
  for (let i = 0; i < positions.length; i += size) found.push(positions.slice(i, i + size));
  return found;
};

const AT_ONCE = data.heat.columns;
const members = data.racks.map((_, k) => everyone.filter((i) => rackOf[i] === k));
const withoutRack = everyone.filter((i) => rackOf[i] < 0);
const scopes = [{ label: `all ${count(ids.length)}`, positions: everyone }];
if (ids.length > AT_ONCE) {
  members.forEach((positions, k) => scopes.push({ label: data.rack_labels[k], positions, rack: k }));
  for (let i = 0; i < ids.length; i += AT_ONCE) {
    const positions = everyone.slice(i, i + AT_ONCE);
    scopes.push({ label: `brokers ${idRange(positions)}`, positions });
  }
}
let scope = scopes[0];
const scopeSelects = [...document.querySelectorAll("select.scope")];
const onScope = [];  // functions that redraw when the scope changes
for (const select of scopeSelects) {
  scopes.forEach((s, i) => {
    const option = element("option", s.label);
    option.value = i;
    select.append(option);
  });
  select.addEventListener("change", () => setScope(scopes[Number(select.value)]));
}
function setScope(next) {
  scope = next;
  for (const select of scopeSelects) select.value = scopes.indexOf(scope);
  for (const draw of onScope) draw();
}
// the scope of neighbouring ids that contains a broker
const around = (position) => scopes.find((s) => s !== scopes[0] && s.rack === undefined && s.positions.includes(position));
