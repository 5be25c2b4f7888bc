// ---- why each replica of a partition moves: the sentences of `plan --explain`
const held = data.loads[0], instead = data.changes.instead;
const nextBest = instead && { broker: await unpack(instead.broker), cost: await unpack(instead.cost), amount: await unpack(instead.amount) };
const perRack = members.map((positions) => positions.filter((i) => isUsable.has(i)).length).filter(Boolean);
// the rack rule: use as many racks as possible, then as few replicas per rack as possible
function mostInRack(replicas) {
  let most = 1;
  if (replicas <= perRack.length) return most;
  while (perRack.reduce((sum, brokers) => sum + Math.min(brokers, most), 0) < replicas) most += 1;
  return most;
}
function whyOf(broker, fate, before, after) {
  const id = ids[broker], rack = rackOf[broker];
  if (data.changes.no_moves) return "no data moves: only the order of replicas may change";
  const loads = `broker ${id} goes from ${held.before[broker]} to ${held.after[broker]} replicas`;
  if (fate === "stays") return `staying costs no move; ${loads}`;
  if (fate === "comes") return `${loads}: this takes one move, and a fair share needs at least that`;
  if (data.brokers.excluded[broker]) return `broker ${id} is being emptied`;
  if (data.brokers.status[broker] === "dead") return `broker ${id} is dead`;
  const kept = rack < 0 ? undefined : before.find((b) => rackOf[b] === rack && after.includes(b));
  if (kept !== undefined) {
    const had = before.filter((b) => rackOf[b] === rack && isUsable.has(b)).length, most = mostInRack(after.length);
    if (had > most) return `rack ${data.racks[rack]} had ${had} replicas of the partition and may have ${most}: broker ${ids[kept]} keeps its replica`;
  }
  return after.length < before.length ? `the replication factor is lowered to ${after.length}; ${loads}` : loads;
}
function leaderOf(before, after) {
  const old = ids[before[0]], now = ids[after[0]];
  if (old === now) return `broker ${now} stays the leader`;
  if (!after.includes(before[0])) return `broker ${now} leads: broker ${old} no longer has a replica`;
  return `broker ${now} leads instead of broker ${old}, to balance ${data.changes.by_rate ? "bytes in per second" : "leaders"}`;
}
// `first`: position of the partition's first new replica among all new replicas
function explanationOf(before, after, first) {
  const found = before.map((broker) => ({ broker, fate: after.includes(broker) ? "stays" : "goes" }));
  for (const broker of after) if (!before.includes(broker)) found.push({ broker, fate: "comes" });
  let next = first;
  for (const reason of found) {
    reason.why = whyOf(reason.broker, reason.fate, before, after);
    if (reason.fate !== "comes") continue;
    if (nextBest && nextBest.broker[next] >= 0) {
      const cost = nextBest.cost[next], amount = nextBest.amount[next];
      reason.instead = `broker ${ids[nextBest.broker[next]]}: `
        + (cost < 0 ? "as good" : `${instead.costs[cost]} ${amount > 0 ? "+" : ""}${amount}`);
    }
    next += 1;
  }
  return { leader: leaderOf(before, after), replicas: found };
}
