// ---- failures: of a broker, or from data.brokers on of a rack
const failure = data.failure, failedText = byId("failed-text"), failedInput = byId("failed");
const heirs = await unpack(failure.heirs), taken = await unpack(failure.taken);
const heirsUpTo = [0];
for (const length of await unpack(failure.length)) heirsUpTo.push(heirsUpTo[heirsUpTo.length - 1] + length);
let failed = usable.reduce((worst, i) => (failure.after[i] > failure.after[worst] ? i : worst), usable[0]);

const heirsOf = (f) => {
  const found = new Map();
  for (let i = heirsUpTo[f]; i < heirsUpTo[f + 1]; i += 1) found.set(heirs[i], taken[i]);
  return found;
};
const gone = (f) => new Set(f < ids.length ? [f] : members[f - ids.length]);
const nameOf = (f) => (f < ids.length ? `broker ${ids[f]}` : data.rack_labels[f - ids.length]);
function drawFailures() {
  if (failed === undefined) return;
  const shown = scope.positions.filter((i) => there.has(i));
  const was = shown.map((i) => Math.max(0, failure.before[i])), is = shown.map((i) => failure.after[i]);
  columns(byId("worst"), {
    positions: shown, wide: (i) => Math.max(0, failure.before[i]), bars: (i) => failure.after[i], line: () => failure.ideal || 0,
    short: count, picked: failed,
    overview: shown.length ? `worst ${change(count(most(was)), count(most(is)))}` : "",
    label: `Most leaders on one survivor for each failed broker, at most ${count(most([0, ...is]))}`,
    describe: (i) => `${named(i)} fails: ${change(failure.before[i] < 0 ? "–" : count(failure.before[i]), count(failure.after[i]))}`,
    pick: (i) => choose(i),
  });
  const dead = gone(failed), found = heirsOf(failed);
  const survivors = shown.filter((i) => !dead.has(i));
  const own = (i) => failure.leaders[i], extra = (i) => found.get(i) || 0;
  columns(byId("survivors"), {
    positions: survivors, bars: own, stack: extra, line: () => (failed < ids.length ? failure.ideal : failure.rack_ideal) || 0,
    short: count, picked: -1,
    overview: range(survivors.map((i) => own(i) + extra(i)), count),
    label: `Leaders of each survivor when ${nameOf(failed)} fails`,
    describe: (i) => `${named(i)}: ${count(own(i))} + ${count(extra(i))} = ${count(own(i) + extra(i))}`,
    pick: (i) => choose(i),
  });
  tellFailure(found, [...dead].reduce((sum, i) => sum + (there.has(i) ? failure.leaders[i] : 0), 0));
}
// many heirs: those that take the same number together, most first
function together(found) {
  const alike = new Map();
  for (const [i, n] of found) alike.set(n, [...(alike.get(n) || []), ids[i]]);
  return [...alike].map(([n, who]) => {
    const more = who.length > 6 ? ` and ${count(who.length - 5)} more` : "";
    const some = who.slice(0, more ? 5 : 6).join(", ") + more;
    return who.length === 1 ? `${some} takes ${count(n)}` : `${some} take ${count(n)} each`;
  }).join("; ");
}
function tellFailure(found, leaders) {
  const title = nameOf(failed).replace(/^./, (c) => c.toUpperCase());
  if (leaders === 0) {
    failedText.textContent = `${title} leads nothing: nobody has to take over.`;
    return;
  }
  const told = found.size <= 12 ? [...found].map(([i, n]) => `${ids[i]} takes ${count(n)}`).join(", ") : together(found);
  const lost = failure.lost[failed], was = failure.before[failed], is = failure.after[failed];
  failedText.textContent = `${title} fails: ${plural(leaders, "leader")} to hand over; ${told || "nobody can"}`
    + `. The most that one survivor then leads is ${count(is)}`
    + (was >= 0 && was !== is ? `; before the plan it would be ${count(was)}.` : ".")
    + (lost ? ` ${plural(lost, "partition")} had no other live replica.` : "");
}
function choose(f) {
  if (f < ids.length && !there.has(f)) return;
  failed = f;
  if (failedInput.tagName === "SELECT") failedInput.value = f;
  else {
    failedInput.querySelectorAll("input").forEach((radio) => { radio.checked = Number(radio.value) === f; });
  }
  drawLoads();
  drawFailures();
}
failedInput.addEventListener("change", (event) => choose(Number(event.target.value)));
