// ---- failures of a broker, or (positions after the brokers) of a rack
const failure = data.failure, failedText = byId("failed-text"), failedInput = byId("failed");
const successors = await unpack(failure.successors), taken = await unpack(failure.taken);
const offsets = [0];
for (const length of await unpack(failure.length)) offsets.push(offsets[offsets.length - 1] + length);
let picked = -1;  // the broker that was chosen by hand
let failed = usable.reduce((worst, i) => (failure.after[i] > failure.after[worst] ? i : worst), usable[0]);

const takeovers = (f) => {
  const found = new Map();
  for (let i = offsets[f]; i < offsets[f + 1]; i += 1) found.set(successors[i], taken[i]);
  return found;
};
const failedBrokers = (f) => new Set(f < ids.length ? [f] : members[f - ids.length]);
const nameOf = (f) => (f < ids.length ? `broker ${ids[f]}` : data.rack_labels[f - ids.length]);
function drawFailures() {
  if (failed === undefined) return;
  const shown = scope.positions.filter((i) => isUsable.has(i));
  const was = shown.map((i) => Math.max(0, failure.before[i])), is = shown.map((i) => failure.after[i]);
  columns(byId("worst"), {
    positions: shown, wide: (i) => Math.max(0, failure.before[i]), bars: (i) => failure.after[i], line: () => failure.bound || 0,
    short: count, picked: failed,
    overview: shown.length ? `worst ${change(count(most(was)), count(most(is)))}` : "",
    label: `Leaders of the worst survivor for each failed broker, at most ${count(most([0, ...is]))}`,
    describe: (i) => `${brokerName(i)} fails: ${change(failure.before[i] < 0 ? "–" : count(failure.before[i]), count(failure.after[i]))}`,
    pick: (i) => choose(i),
  });
  const dead = failedBrokers(failed), found = takeovers(failed);
  const survivors = shown.filter((i) => !dead.has(i));
  const own = (i) => failure.leaders[i], extra = (i) => found.get(i) || 0;
  columns(byId("survivors"), {
    positions: survivors, bars: own, stack: extra, line: () => (failed < ids.length ? failure.bound : failure.rack_bound) || 0,
    short: count, picked: -1,
    overview: range(survivors.map((i) => own(i) + extra(i)), count),
    label: `Leaders of each survivor when ${nameOf(failed)} fails`,
    describe: (i) => `${brokerName(i)}: ${count(own(i))} + ${count(extra(i))} = ${count(own(i) + extra(i))}`,
    pick: (i) => choose(i),
  });
  showFailure(found, [...dead].reduce((sum, i) => sum + (isUsable.has(i) ? failure.leaders[i] : 0), 0));
}
// many takeovers: brokers with the same number together, most first
function byNumber(found) {
  const alike = new Map();
  for (const [i, n] of found) alike.set(n, [...(alike.get(n) || []), ids[i]]);
  return [...alike].map(([n, brokers]) => {
    const more = brokers.length > 6 ? ` and ${count(brokers.length - 5)} more` : "";
    const some = brokers.slice(0, more ? 5 : 6).join(", ") + more;
    return brokers.length === 1 ? `${some} takes ${count(n)}` : `${some} take ${count(n)} each`;
  }).join("; ");
}
function showFailure(found, leaders) {
  const title = nameOf(failed).replace(/^./, (c) => c.toUpperCase());
  if (leaders === 0) {
    failedText.textContent = `${title} leads no partition: no broker has to take over.`;
    return;
  }
  const shares = found.size <= 12 ? [...found].map(([i, n]) => `${ids[i]} takes ${count(n)}`).join(", ") : byNumber(found);
  const lost = failure.lost[failed], was = failure.before[failed], is = failure.after[failed];
  failedText.textContent = `${title} fails: ${plural(leaders, "leader")} to take over; ${shares || "no broker can"}`
    + `. The worst survivor then leads ${count(is)}`
    + (was >= 0 && was !== is ? `; before the plan ${count(was)}.` : ".")
    + (lost ? ` ${plural(lost, "partition")} without another live replica.` : "");
}
function choose(f, byHand = true) {
  if (f < ids.length && !isUsable.has(f)) return;
  failed = f;
  picked = byHand ? f : -1;
  if (failedInput.tagName === "SELECT") failedInput.value = f;
  else {
    failedInput.querySelectorAll("input").forEach((radio) => { radio.checked = Number(radio.value) === f; });
  }
  drawLoads();
  drawFailures();
}
failedInput.addEventListener("change", (event) => choose(Number(event.target.value)));
